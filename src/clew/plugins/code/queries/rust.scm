[(struct_item name: (type_identifier) @name)
 (enum_item name: (type_identifier) @name)
 (union_item name: (type_identifier) @name)
 (trait_item name: (type_identifier) @name)] @class
(mod_item name: (identifier) @name body: (_)) @scope
(impl_item type: [(type_identifier) @name (generic_type type: (type_identifier) @name)]) @scope
(impl_item trait: [(type_identifier) (scoped_type_identifier)] @implements)
(impl_item trait: (generic_type type: [(type_identifier) (scoped_type_identifier)] @implements))
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier)] @extends))
(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(macro_definition name: (identifier) @name) @function
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @call)
(call_expression function: (generic_function function: [(identifier) (scoped_identifier) (field_expression)] @call))
(use_declaration) @import
(attribute_item) @lead
[(line_comment) (block_comment)] @comment
(function_item return_type: (type_identifier) @returns)
(function_item return_type: (generic_type type: (type_identifier) @returns))
(parameter type: (type_identifier) @type)
(parameter type: (reference_type type: (type_identifier) @type))
(field_declaration type: (type_identifier) @type)
