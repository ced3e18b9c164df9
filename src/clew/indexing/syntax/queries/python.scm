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
