"""What every group of settings is."""

from pydantic import BaseModel, ConfigDict


class SettingsGroup(BaseModel):
    """Values that are frozen and know their names."""

    model_config = ConfigDict(frozen=True, extra="forbid")
