(class_declaration name: (_) @name) @class
(variable_declarator name: (identifier) @name value: (class)) @class
(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(method_definition name: [(property_identifier) (private_property_identifier)] @name) @function
(assignment_expression left: (member_expression object: (member_expression object: (identifier) @owner property: (property_identifier) @prototype) property: (property_identifier) @name) right: [(arrow_function) (function_expression)]) @function
[(export_statement) (lexical_declaration) (variable_declaration)] @wrap
(call_expression function: [(identifier) (member_expression)] @call)
(new_expression constructor: [(identifier) (member_expression)] @call)
(import_statement) @import
((variable_declarator value: (call_expression function: (identifier) @require arguments: (arguments . (string)))) @import (#eq? @require "require"))
(comment) @comment
