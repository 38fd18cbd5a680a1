"""A web service over a topic: POST an event and it is produced, GET a stream of them as they are consumed."""

import argparse
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

import uvicorn
from fastapi import FastAPI, HTTPException, Query
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from penstock import AsyncAdmin, AsyncConsumer, AsyncProducer
from penstock.sdk import AlreadyExists, ClientError


class Event(BaseModel):
    name: str
    user: str


class Place(BaseModel):
    partition: int
    offset: int | None


def create_app(bootstrap: str, topic: str) -> FastAPI:
    producers: list[AsyncProducer[Event]] = []

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        async with AsyncAdmin(bootstrap) as admin:
            try:
                await admin.create_topic(topic)
            except AlreadyExists:
                pass
        async with AsyncProducer(bootstrap, value_serializer=Event, key_serializer="text", linger_ms=5) as producer:
            producers.append(producer)
            yield

    app = FastAPI(title="Events", lifespan=lifespan)

    @app.post("/events", status_code=201)
    async def publish(event: Event) -> Place:
        try:
            delivery = await producers[0].send(topic, event, key=event.user)
        except ClientError as error:
            raise HTTPException(503, str(error)) from error
        return Place(partition=delivery.partition, offset=delivery.offset)

    @app.get("/events")
    async def stream(from_start: bool = False, limit: Annotated[int | None, Query(ge=1)] = None) -> StreamingResponse:
        async def lines() -> AsyncIterator[bytes]:
            async with AsyncConsumer(
                bootstrap,
                topic,
                value_deserializer=Event,
                start="earliest" if from_start else "latest",
                on_bad_record="skip",  # other programs may write to the topic
            ) as consumer:
                left = limit
                while left is None or left > 0:
                    record = await anext(consumer)
                    yield record.value.model_dump_json().encode() + b"\n"
                    left = None if left is None else left - 1

        return StreamingResponse(lines(), media_type="application/x-ndjson")

    return app


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap", default="127.0.0.1:9092", metavar="HOST:PORT")
    parser.add_argument("--topic", default="web-events")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    app = create_app(options.bootstrap, options.topic)
    # Streams do not end by themselves, so after Ctrl-C they get one second.
    uvicorn.run(app, host="127.0.0.1", port=options.port, log_level="warning", timeout_graceful_shutdown=1)


if __name__ == "__main__":
    main()
