(type_spec name: (type_identifier) @name) @class
(type_declaration) @wrap
(function_declaration name: (identifier) @name) @function
(method_declaration receiver: (parameter_list (parameter_declaration name: (identifier)? @self type: [
  (type_identifier) @owner (pointer_type (type_identifier) @owner)
  (generic_type type: (type_identifier) @owner)
  (pointer_type (generic_type type: (type_identifier) @owner))]))
  name: (field_identifier) @name) @function
(struct_type (field_declaration_list (field_declaration !name type: [(type_identifier) (qualified_type)] @extends)))
(struct_type (field_declaration_list (field_declaration !name type: (pointer_type [(type_identifier) (qualified_type)] @extends))))
(interface_type (type_elem . [(type_identifier) (qualified_type)] @extends .))
(call_expression function: [(identifier) (selector_expression)] @call)
(import_spec) @import
(package_clause (package_identifier) @package)
(comment) @comment
(function_declaration result: [(type_identifier) (qualified_type)] @returns)
(function_declaration result: (pointer_type [(type_identifier) (qualified_type)] @returns))
(method_declaration result: [(type_identifier) (qualified_type)] @returns)
(method_declaration result: (pointer_type [(type_identifier) (qualified_type)] @returns))
(parameter_declaration type: [(type_identifier) (qualified_type)] @type)
(parameter_declaration type: (pointer_type [(type_identifier) (qualified_type)] @type))
(field_declaration name: (field_identifier) type: [(type_identifier) (qualified_type)] @type)
