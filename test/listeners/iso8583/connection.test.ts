import assert from 'node:assert/strict'
import type { Socket } from 'node:net'
import { Writable } from 'node:stream'
import { test } from 'node:test'
import { composeFrame } from '../../../src/listeners/iso8583/codec/frame.ts'
import {
  createInput,
  createOutput,
  createQueue,
  type LinkWork,
  type ReceivedFrame,
  type SharedLoad,
} from '../../../src/listeners/iso8583/connection.ts'

const framing = { length: 'binary-2' } as const

test('a frame that is not whole in time ends the link, however steadily its bytes come', async () => {
  const { promise, resolve } = Promise.withResolvers<string>()
  const onFault = (fault: string, detail = '') => resolve(`${fault}: ${detail}`)
  const input = createInput({ framing, frameMs: 150, onFrames: () => undefined, onFault })
  input.receive(Buffer.from('00ff', 'hex'))
  const drip = setInterval(() => input.receive(Buffer.from('0')), 40)
  assert.equal(await promise, 'slow frame: A frame was not complete in time.')
  clearInterval(drip)
})

test('frames that follow one another may take as long as they like in all', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] })
  const frames: ReceivedFrame[] = []
  const faults: string[] = []
  const input = createInput({
    framing,
    frameMs: 150,
    onFrames: (whole) => frames.push(...whole),
    onFault: (fault) => faults.push(fault),
  })
  const one = composeFrame(framing, Buffer.from('message'))
  for (let sent = 0; sent < 6; sent += 1) {
    input.receive(one.subarray(0, 3))
    t.mock.timers.tick(140)
    input.receive(one.subarray(3))
  }
  assert.deepEqual([frames.length, faults], [6, []])
  input.stop()
})

test('a frame that seems to be counted otherwise than agreed is told as that', async () => {
  const seen = async (length: 'binary-2' | 'bcd-2', bytes: Buffer): Promise<string> => {
    const { promise, resolve } = Promise.withResolvers<string>()
    const onFault = (_: string, detail = '') => resolve(detail)
    const agreed = { framing: { length }, frameMs: 20, onFrames: () => undefined, onFault }
    createInput(agreed).receive(bytes)
    return promise
  }
  const packed = composeFrame({ length: 'bcd-2' }, Buffer.alloc(60))
  assert.match(await seen('binary-2', packed), /Read as bcd-2/)
  const digits = composeFrame({ length: 'ascii-4' }, Buffer.alloc(60))
  assert.match(await seen('bcd-2', digits), /Read as ascii-4/)
})

/** A socket whose other side reads, or does not. */
const socketTo = (isReading: boolean): Socket => {
  const write = (_: Buffer, __: string, done: () => void) => {
    if (isReading) done()
  }
  return new Writable({ write }) as Socket
}

test('a peer that does not read its answers is cut, and one that reads is not', async () => {
  const faults: string[] = []
  const onFault = (fault: string) => faults.push(fault)
  const answer = Buffer.alloc(1_000)
  const reading = createOutput({ framing, socket: socketTo(true), onFault })
  for (let sent = 0; sent < 1_000; sent += 1) {
    reading.send(answer, null)
    await new Promise(setImmediate)
  }
  assert.deepEqual(faults, [])
  const output = createOutput({ framing, socket: socketTo(false), onFault })
  while (faults.length === 0) output.send(answer, null)
  assert.deepEqual(faults, ['not reading'])
  for (const each of [reading, output]) each.stop()
})

/** The frames of several connections, each with its number, and the order in which they begin. */
const openQueues = (count: number) => {
  const load: SharedLoad = { inFlight: 0, waiting: new Set() }
  const begun: number[] = []
  const ends: (() => void)[] = []
  const reading = new Map<number, boolean>()
  const queues = Array.from({ length: count }, (_, at) => {
    const work: LinkWork = { inFlight: 0 }
    const begin = () => {
      begun.push(at)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      return promise
    }
    const queue = createQueue({ load, work, begin, read: (isWanted) => reading.set(at, isWanted) })
    return { ...queue, work }
  })
  const endOne = async () => {
    ends.shift()?.()
    await new Promise(setImmediate)
  }
  return { load, begun, reading, queues, endOne }
}

const frames = (count: number): ReceivedFrame[] =>
  Array.from({ length: count }, () => ({ header: Buffer.alloc(0), message: Buffer.of(1), at: 0 }))

test('a link has 64 messages in work, all links 256, and none is read while its messages wait', async () => {
  const { begun, endOne, load, queues, reading } = openQueues(5)
  for (const queue of queues) queue.add(frames(100))
  assert.deepEqual(
    queues.map(({ work }) => work.inFlight),
    [64, 64, 64, 64, 0],
  )
  assert.equal(load.inFlight, 256)
  assert.deepEqual([...reading.values()], [false, false, false, false, false])
  while (load.inFlight > 0) await endOne()
  assert.equal(begun.length, 500)
  assert.deepEqual([...reading.values()], [true, true, true, true, true])
})

test('of links that wait for one another none is served before all the others', async () => {
  const { begun, endOne, queues } = openQueues(6)
  for (const queue of queues) queue.add(frames(200))
  const already = begun.length
  for (let ended = 0; ended < 120; ended += 1) await endOne()
  const since = begun.slice(already)
  for (const at of [4, 5]) {
    const own = since.filter((each) => each === at).length
    assert(own >= 15, `link ${at} began ${own} of ${since.length}`)
  }
})

test('what waits when a connection ends is not begun', async () => {
  const { begun, endOne, load, queues } = openQueues(1)
  const [queue] = queues
  assert(queue)
  queue.add(frames(100))
  queue.drop()
  while (load.inFlight > 0) await endOne()
  assert.equal(begun.length, 64)
  await queue.idle()
})
