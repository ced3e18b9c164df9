(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(decorated_definition) @wrap
(class_definition superclasses: (argument_list [(identifier) (attribute)] @extends))
(class_definition superclasses: (argument_list (subscript value: [(identifier) (attribute)] @extends)))
(call function: [(identifier) (attribute)] @call)
(import_statement) @import
(import_from_statement) @import
(comment) @comment
(module . (expression_statement (string) @comment))
(block . (expression_statement (string) @comment))
(function_definition return_type: (type [(identifier) (attribute)] @returns))
(function_definition return_type: (type (binary_operator left: [(identifier) (attribute)] @returns)))
(typed_parameter type: (type [(identifier) (attribute)] @type))
(typed_parameter type: (type (binary_operator left: [(identifier) (attribute)] @type)))
(typed_default_parameter type: (type [(identifier) (attribute)] @type))
(typed_default_parameter type: (type (binary_operator left: [(identifier) (attribute)] @type)))
(type_parameter (type [(identifier) (attribute)] @type))
(decorator [(identifier) (attribute)] @decorator)
(decorator (call function: [(identifier) (attribute)] @decorator))
