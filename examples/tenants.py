"""Keep several tenants apart, one namespace each, with the models loaded once."""

import clew

with clew.open("tenants.clew") as store:
    for tenant, text in {"anna": "Anna keeps bees.", "bo": "Bo mends looms."}.items():
        with store.namespaces.open(tenant) as own:
            own.add(text, source="about")

    for tenant in ("anna", "bo"):
        with store.namespaces.open(tenant) as own:
            print(tenant, [hit.chunk.text for hit in own.search("Who keeps bees?")])

    store.namespaces.copy("anna", "anna-before")
    store.namespaces.rename("bo", "bo-lind")
    store.namespaces.delete("anna")
    print("left:", [name for name in store.namespaces if name != "default"])
