[(class_declaration name: (identifier) @name)
 (interface_declaration name: (identifier) @name)
 (enum_declaration name: (identifier) @name)
 (record_declaration name: (identifier) @name)
 (annotation_type_declaration name: (identifier) @name)] @class
(method_declaration name: (identifier) @name) @function
(constructor_declaration name: (identifier) @name) @function
(superclass [(type_identifier) (scoped_type_identifier)] @extends)
(superclass (generic_type . [(type_identifier) (scoped_type_identifier)] @extends))
(super_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @implements))
(super_interfaces (type_list (generic_type . [(type_identifier) (scoped_type_identifier)] @implements)))
(extends_interfaces (type_list [(type_identifier) (scoped_type_identifier)] @extends))
(extends_interfaces (type_list (generic_type . [(type_identifier) (scoped_type_identifier)] @extends)))
(method_invocation !object name: (identifier) @call)
(method_invocation object: [(identifier) (this) (field_access) (super)] @object name: (identifier) @call)
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @call)
(object_creation_expression type: (generic_type . [(type_identifier) (scoped_type_identifier)] @call))
(import_declaration) @import
(package_declaration [(identifier) (scoped_identifier)] @package)
[(line_comment) (block_comment)] @comment
(method_declaration type: (type_identifier) @returns)
(formal_parameter type: (type_identifier) @type)
(field_declaration type: (type_identifier) @type)
(type_arguments (type_identifier) @type)
