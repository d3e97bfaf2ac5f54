"""`quintet serve`: scores over HTTP. Starlette and uvicorn come with the extra `serve`."""
