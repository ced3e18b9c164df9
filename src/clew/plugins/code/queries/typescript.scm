(abstract_class_declaration name: (_) @name) @class
(interface_declaration name: (type_identifier) @name) @class
(enum_declaration name: (identifier) @name) @class
(type_alias_declaration name: (type_identifier) @name) @class
(extends_clause value: [(identifier) (member_expression)] @extends)
(implements_clause [(type_identifier) (nested_type_identifier)] @implements)
(implements_clause (generic_type name: [(type_identifier) (nested_type_identifier)] @implements))
(extends_type_clause [(type_identifier) (nested_type_identifier)] @extends)
(extends_type_clause (generic_type name: [(type_identifier) (nested_type_identifier)] @extends))
(type_annotation (type_identifier) @type)
