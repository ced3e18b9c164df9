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
