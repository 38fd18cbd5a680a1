// kafkajs as the tests drive it: `node kafkajs.js COMMAND`, one JSON document on stdin, JSON lines on stdout.
// Keys, values and headers travel as base64, so that bytes stay bytes.
'use strict'

const { Kafka, CompressionTypes, CompressionCodecs, logLevel } = require('kafkajs')
const SnappyCodec = require('kafkajs-snappy')
const { ZstdCodec } = require('zstd-codec')

CompressionCodecs[CompressionTypes.Snappy] = SnappyCodec
const zstd = new Promise(resolve => ZstdCodec.run(library => resolve(new library.Streaming())))
CompressionCodecs[CompressionTypes.ZSTD] = () => ({
  compress: async encoder => Buffer.from((await zstd).compress(encoder.buffer)),
  decompress: async buffer => Buffer.from((await zstd).decompress(buffer)),
})

const CODECS = {
  none: CompressionTypes.None,
  gzip: CompressionTypes.GZIP,
  snappy: CompressionTypes.Snappy,
  zstd: CompressionTypes.ZSTD,
}

const say = event => process.stdout.write(JSON.stringify(event) + '\n')
const bytes = text => (text === null || text === undefined ? null : Buffer.from(text, 'base64'))
const text = data => (data === null || data === undefined ? null : Buffer.from(data).toString('base64'))

const readInput = async () => {
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const connectTo = input =>
  new Kafka({
    clientId: 'kafkajs',
    brokers: [input.bootstrap],
    logLevel: logLevel.NOTHING,
    retry: { retries: input.retries ?? 20 },
  })

const messageOut = (partition, message) => ({
  partition,
  offset: Number(message.offset),
  timestamp: Number(message.timestamp),
  key: text(message.key),
  value: text(message.value),
  headers: Object.entries(message.headers || {}).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).map(each => [name, text(each)])
  ),
})

async function produce (input) {
  const producer = connectTo(input).producer({
    idempotent: Boolean(input.idempotent),
    maxInFlightRequests: input.idempotent ? 1 : null,
  })
  await producer.connect()
  const size = input.batch || input.messages.length
  for (let start = 0; start < input.messages.length; start += size) {
    const messages = input.messages.slice(start, start + size).map(message => ({
      key: bytes(message.key),
      value: bytes(message.value),
      headers: Object.fromEntries(message.headers.map(([name, value]) => [name, bytes(value)])),
      timestamp: message.timestamp === null ? undefined : String(message.timestamp),
      partition: message.partition,
    }))
    const answer = await producer.send({
      topic: input.topic,
      acks: input.acks,
      compression: CODECS[input.codec],
      messages,
    })
    say({ event: 'sent', count: messages.length, answer })
  }
  await producer.disconnect()
}

async function transact (input) {
  const connect = async () => {
    const producer = connectTo(input).producer({
      transactionalId: input.transactional_id,
      idempotent: true,
      maxInFlightRequests: 1,
    })
    await producer.connect()
    return producer
  }
  const run = async (producer, step) => {
    const transaction = await producer.transaction()
    const messages = step.messages.map(({ value, partition }) => ({ value: bytes(value), partition }))
    if (messages.length) await transaction.send({ topic: input.topic, messages })
    const partitions = [{ partition: 0, offset: String(step.offset) }]
    await transaction.sendOffsets({ consumerGroupId: input.group, topics: [{ topic: input.source, partitions }] })
    await (step.commit ? transaction.commit() : transaction.abort())
  }
  const first = await connect()
  for (const step of input.steps) await run(first, step)
  const second = await connect()
  await (await second.transaction()).abort() // which makes it known to the broker
  const fenced = await run(first, { messages: input.steps[0].messages, offset: 0, commit: true }).catch(error => error)
  say({ fenced: fenced?.type ?? null })
  await second.disconnect()
  await first.disconnect()
}

async function consume (input) {
  const kafka = connectTo(input)
  const consumer = kafka.consumer({ groupId: input.group, allowAutoTopicCreation: false })
  await consumer.connect()
  await consumer.subscribe({ topics: [input.topic], fromBeginning: true })
  let count = 0
  await new Promise((resolve, reject) => {
    consumer.on('consumer.crash', ({ payload }) => reject(payload.error))
    consumer.run({
      autoCommit: false,
      eachMessage: async ({ partition, message }) => {
        say(messageOut(partition, message))
        count += 1
        if (count === input.count) resolve()
      },
    })
    if (input.seek) consumer.seek({ topic: input.topic, partition: input.seek.partition, offset: input.seek.offset })
  })
  await consumer.disconnect()
}

async function member (input) {
  const consumer = connectTo(input).consumer({
    groupId: input.group,
    sessionTimeout: input.session_timeout_ms,
    rebalanceTimeout: input.session_timeout_ms,
    heartbeatInterval: 500,
    allowAutoTopicCreation: false,
  })
  await consumer.connect()
  await consumer.subscribe({ topics: [input.topic], fromBeginning: true })
  consumer.on('consumer.rebalancing', () => say({ event: 'assigned', partitions: [] }))
  consumer.on('consumer.group_join', ({ payload }) =>
    say({ event: 'assigned', partitions: payload.memberAssignment[input.topic] || [] })
  )
  await consumer.run({
    autoCommitThreshold: 1,
    eachMessage: async ({ partition, message }) =>
      say({ event: 'message', partition, offset: Number(message.offset), value: message.value.toString() }),
  })
  process.on('SIGTERM', () => consumer.disconnect().then(() => process.exit(0)))
  await new Promise(() => {})
}

async function admin (input) {
  const client = connectTo(input).admin()
  await client.connect()
  for (const [call, argument] of input.calls) {
    try {
      say({ call, answer: (await client[call](argument)) ?? null })
    } catch (error) {
      say({ call, error: error.type || error.errors?.[0]?.type || error.message })
    }
  }
  await client.disconnect()
}

async function offsetsByTime (input) {
  const client = connectTo(input).admin()
  await client.connect()
  say({ answer: await client.fetchTopicOffsetsByTimestamp(input.topic, input.time) })
  await client.disconnect()
}

const COMMANDS = { produce, transact, consume, member, admin, offsets_by_time: offsetsByTime }
readInput()
  .then(input => COMMANDS[process.argv[2]](input))
  .then(() => process.stdout.write('', () => process.exit(0)))
  .catch(error => {
    console.error(error.type || '', error.stack || error)
    process.exit(1)
  })
