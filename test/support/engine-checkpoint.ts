import type { PGlite } from '@electric-sql/pglite'

/**
 * What an embedded engine is at a moment, to which it can be taken back: its memory, its files and which of them it
 * has open. To start another takes it half a second of a processor, this a thirtieth of one.
 */

/** What is needed of the engine's file system (Emscripten's `FS` with its `MEMFS`). */
type Files = {
  root: FileNode
  /** All nodes, by the hash of their name and folder; those of one hash are a chain. */
  nameTable: (FileNode | undefined)[]
  streams: (FileStream | null | undefined)[]
}

/** A file, whose contents are its bytes, or a folder, whose contents are nodes by name. */
type FileNode = { contents?: Uint8Array | Record<string, FileNode> | null }

/** An open file. What it shares with copies of it is its position and its flags. */
type FileStream = { shared?: object }

const blockBytes = 65_536
const zeros = Buffer.alloc(blockBytes)

/** As much that was never written that nothing is looked for beyond it. */
const blocksBetween = 64

/** @returns what takes the engine back. It must be idle then, as it must be now. */
export const checkpoint = ({ Module: engine }: PGlite): (() => void) => {
  const restoreMemory = checkpointMemory(() => engine.HEAPU8)
  const restoreFiles = checkpointFiles(engine.FS as unknown as Files)
  return () => {
    restoreMemory()
    restoreFiles()
  }
}

const checkpointMemory = (memory: () => Uint8Array): (() => void) => {
  const saved = new Map<number, Buffer>()
  for (const { at, block } of blocksOf(memory())) {
    if (!block.equals(zeros)) saved.set(at, Buffer.from(block))
  }
  const end = Math.max(...saved.keys())
  return () => {
    let untouched = 0
    for (const { at, block } of blocksOf(memory())) {
      const was = saved.get(at)
      if (was) was.copy(block)
      else if (!block.equals(zeros)) block.fill(0)
      else if (at > end) untouched += 1
      if (untouched > blocksBetween) break
    }
  }
}

/** Of a memory of 128 MB, of which most was never written. */
function* blocksOf(memory: Uint8Array): Generator<{ at: number; block: Buffer }> {
  for (let at = 0; at < memory.length; at += blockBytes) {
    yield { at, block: Buffer.from(memory.buffer, memory.byteOffset + at, blockBytes) }
  }
}

const checkpointFiles = ({ nameTable, root, streams }: Files): (() => void) => {
  const restoreNodes = [...nodesUnder(root)].map(checkpointNode)
  const names = [...nameTable]
  const open = [...streams]
  const restoreStreams = open.map((stream) => stream && checkpointStream(stream))
  return () => {
    for (const restore of restoreNodes) restore()
    for (const [at, first] of names.entries()) nameTable[at] = first
    streams.length = 0
    streams.push(...open)
    for (const restore of restoreStreams) restore?.()
  }
}

const checkpointNode = (node: FileNode): (() => void) => {
  const { contents, ...members } = node
  if (contents instanceof Uint8Array) {
    const bytes = contents.slice()
    return () => {
      Object.assign(node, members, { contents: takeBack(node.contents, bytes) })
    }
  }
  const nodes = contents && { ...contents }
  return () => Object.assign(node, members, { contents: nodes && { ...nodes } })
}

/** In place where there is room: each 64 MB of new bytes make the engine of this process look for garbage. */
const takeBack = (now: FileNode['contents'], bytes: Uint8Array): Uint8Array => {
  if (!(now instanceof Uint8Array) || now.length < bytes.length) return bytes.slice()
  if (Buffer.compare(now.subarray(0, bytes.length), bytes) !== 0) now.set(bytes)
  // What a file has room for beyond its end is zero.
  return now.fill(0, bytes.length)
}

function* nodesUnder(node: FileNode): Generator<FileNode> {
  yield node
  const { contents } = node
  if (!contents || contents instanceof Uint8Array) return
  for (const child of Object.values(contents)) yield* nodesUnder(child)
}

const checkpointStream = (stream: FileStream): (() => void) => {
  const members = { ...stream }
  const shared = { ...stream.shared }
  return () => {
    Object.assign(stream, members)
    if (stream.shared) Object.assign(stream.shared, shared)
  }
}
