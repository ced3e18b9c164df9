(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @class
(union_specifier name: (type_identifier) @name body: (_)) @class
(enum_specifier name: (type_identifier) @name body: (_)) @class
(type_definition type: [(struct_specifier !name body: (_)) (union_specifier !name body: (_)) (enum_specifier !name body: (_))] declarator: (type_identifier) @name) @class
(call_expression function: (identifier) @call)
(preproc_include path: (_) @import)
(comment) @comment
(class_specifier name: [(type_identifier) (template_type name: (type_identifier))] @name body: (_)) @class
(namespace_definition name: (_) @name) @scope
(function_definition declarator: (function_declarator declarator: [(field_identifier) (qualified_identifier) (destructor_name) (operator_name)] @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [(field_identifier) (qualified_identifier) (operator_name)] @name))) @function
(function_definition declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))) @function
(template_declaration) @wrap
(base_class_clause [(type_identifier) (qualified_identifier)] @extends)
(base_class_clause (template_type name: (type_identifier) @extends))
(call_expression function: [(qualified_identifier) (field_expression)] @call)
(new_expression type: [(type_identifier) (qualified_identifier)] @call)
