"""What every group of settings is."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    GetCoreSchemaHandler,
    GetJsonSchemaHandler,
    SecretStr,
    model_validator,
)
from pydantic_core import CoreSchema
from pydantic_core.core_schema import no_info_after_validator_function

from clew.errors import keep_secret


class SettingsGroup(BaseModel):
    """Values that are frozen and know their names; no error quotes those that are secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _beside_defaults(cls, values: Any) -> Any:  # noqa: ANN401 - whatever was given
        """A group within this one that is given in part keeps the rest of its default here.

        That default may differ from those of its own fields: one task of a model has other limits
        than another.
        """
        if not isinstance(values, Mapping):
            return values
        defaults = {name: field.default for name, field in cls.model_fields.items()}
        return {name: _beside(defaults.get(name), value) for name, value in values.items()}

    @model_validator(mode="after")
    def _keep_secrets(self) -> Self:
        for name in type(self).model_fields:
            if isinstance(value := getattr(self, name), SecretStr):
                keep_secret(value.get_secret_value())
        return self


def _beside(default: object, given: object) -> object:
    if not isinstance(default, SettingsGroup) or not default.model_fields_set:
        return given
    held = default.model_dump(exclude_unset=True)
    if isinstance(given, SettingsGroup):
        given = given.model_dump(exclude_unset=True)
    return merged(held, given) if isinstance(given, Mapping) else given


def merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """The values of one source over those of another; groups are taken together."""
    both = dict(low)
    for name, value in high.items():
        below = both.get(name)
        if isinstance(value, Mapping) and isinstance(below, Mapping):
            value = merged(below, value)
        both[name] = value
    return both


@dataclass(frozen=True)
class Named:
    """Marks a setting as the name of what plugins bring by a hook, or one of the core's `own`."""

    hook: str
    own: str

    def __get_pydantic_core_schema__(
        self, source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """A text that is checked where it is given."""
        return no_info_after_validator_function(self._checked, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> dict[str, Any]:
        """With the names that there are, which the documentation lists."""
        from clew.hookspecs import named

        return {**handler(schema), "enum": [self.own, *named(self.hook)]}

    def _checked(self, name: str) -> str:
        from clew.hookspecs import named  # what is the core's own needs no plugin

        if name != self.own and name not in (brought := named(self.hook)):
            known = ", ".join(map(repr, (self.own, *brought)))
            raise ValueError(f"expected one of {known}")
        return name
