"""A page that asks a store and shows the path to each passage.

streamlit run examples/use_streamlit.py
"""

from tempfile import mkdtemp

import streamlit as st

import clew

TEXTS = {
    "tower": "The Tower of Vell was finished in 1820. Ada Morn built its great clock.",
    "morn": "Ada Morn came from Lisse. She was an apprentice of Piet Oss.",
    "oss": "Piet Oss kept a workshop by the canal for thirty years.",
}


@st.cache_resource  # once for all who look at the page
def opened() -> clew.Clew:
    store = clew.open(mkdtemp())
    for source, text in TEXTS.items():
        store.add(text, source=source)
    return store


st.title("Clew")
question = st.text_input("Question", placeholder="Whose apprentice built the clock of Vell?")
if question:
    for hit in opened().search(question, limit=5):
        with st.container(border=True):
            st.markdown(f"**{hit.chunk.source}**")
            st.text(hit.chunk.text)
            for step in hit.path:
                st.caption(f"{step.entity}: {step.sentence}")
