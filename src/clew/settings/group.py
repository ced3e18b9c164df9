"""What every group of settings is."""

from typing import Self

from pydantic import BaseModel, ConfigDict, SecretStr, model_validator

from clew.errors import keep_secret


class SettingsGroup(BaseModel):
    """Values that are frozen and know their names; no error quotes those that are secret."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @model_validator(mode="after")
    def _keep_secrets(self) -> Self:
        for name in type(self).model_fields:
            if isinstance(value := getattr(self, name), SecretStr):
                keep_secret(value.get_secret_value())
        return self
