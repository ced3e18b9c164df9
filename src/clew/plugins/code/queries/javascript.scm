(class_declaration (class_heritage [(identifier) (member_expression)] @extends))
