// What program.py asks for, with kafkajs: one JSON document on stdin, a word and a text in each line of stdout.
'use strict'

const fs = require('fs')
const { Kafka, logLevel } = require('kafkajs')

const say = (word, text) => process.stdout.write(`${word} ${text}\n`)
const pause = ms => new Promise(resolve => setTimeout(resolve, ms))

const readInput = async () => {
  const chunks = []
  for await (const chunk of process.stdin) chunks.push(chunk)
  return JSON.parse(Buffer.concat(chunks).toString())
}

const file = name => (name ? fs.readFileSync(name) : undefined)

const connectTo = (given, retries) => {
  const protocol = given['security.protocol']
  const login = protocol.startsWith('SASL')
  return new Kafka({
    clientId: 'kafkajs',
    brokers: [given['bootstrap.servers']],
    logLevel: logLevel.NOTHING,
    retry: { retries },
    ssl: protocol.endsWith('SSL') && {
      ca: [file(given['ssl.ca.location'])],
      cert: file(given['ssl.certificate.location']),
      key: file(given['ssl.key.location']),
    },
    sasl: login
      ? {
          mechanism: given['sasl.mechanism'].toLowerCase(),
          username: given['sasl.username'],
          password: given['sasl.password'],
        }
      : undefined,
    reauthenticationThreshold: 1000,
  })
}

const producerOf = async kafka => {
  const producer = kafka.producer({ idempotent: true, maxInFlightRequests: 1, allowAutoTopicCreation: false })
  await producer.connect()
  return producer
}

const consume = async (kafka, input, onMessage) => {
  const consumer = kafka.consumer({ groupId: input.group, allowAutoTopicCreation: false })
  await consumer.connect()
  await consumer.subscribe({ topics: [input.topic], fromBeginning: true })
  await consumer.run({
    eachMessage: async ({ message }) => {
      say('found', message.value.toString())
      onMessage(message.value.toString())
    },
  })
  return consumer
}

async function exchange (kafka, input) {
  const values = input.values.split(',')
  const producer = await producerOf(kafka)
  await producer.send({ topic: input.topic, acks: -1, messages: values.map(value => ({ value })) })
  values.forEach(value => say('sent', value))
  await producer.send({ topic: input.closed, acks: -1, messages: [{ value: 'no right' }] }).then(
    () => {},
    error => say('refused', error.type || error.cause?.type || error)
  )
  await producer.disconnect()
  let left = values.length
  let done
  const all = new Promise(resolve => (done = resolve))
  const consumer = await consume(kafka, input, () => --left === 0 && done())
  await all
  await consumer.disconnect()
}

async function stream (kafka, input) {
  const found = new Set()
  const producer = await producerOf(kafka)
  const consumer = await consume(kafka, input, value => found.add(value))
  let until = Infinity // the time begins with the first message that is read
  let number = 0
  for (; Date.now() < until; number++) {
    await producer.send({ topic: input.topic, acks: -1, messages: [{ value: String(number) }] })
    say('sent', number)
    await pause(10)
    if (found.size && until === Infinity) until = Date.now() + Number(input.seconds) * 1000
  }
  while (found.size < number) await pause(50)
  await producer.disconnect()
  await consumer.disconnect()
}

async function connect (kafka) {
  const admin = kafka.admin()
  await admin.connect()
  await admin.disconnect()
}

const ACTS = { exchange, stream, connect }
readInput()
  .then(input => ACTS[input.act](connectTo(input.client, input.act === 'connect' ? 0 : 20), input))
  .then(() => process.stdout.write('', () => process.exit(0)))
  .catch(error => {
    say('failed', error.cause?.message || error.message)
    process.exitCode = 1
    process.stdout.write('', () => process.exit(1))
  })
