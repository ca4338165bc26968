import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { Problem } from '../../domain/problem.ts'

type Opened = Awaited<ReturnType<NodeFS['init']>>

/**
 * The files of an embedded database, in a folder of this machine. The engine calls `fsync` for
 * committed data, but its bridge to the files ignores the call; this class writes the data to the
 * disk. After a failure of the disk, all answers are refused until the next start, because memory
 * and disk differ; a server would end itself.
 */
export class DurableFiles extends NodeFS {
  #fault: Problem | null = null

  override async init(engine: PGlite, options: Opened['emscriptenOpts']): Promise<Opened> {
    const { emscriptenOpts } = await super.init(engine, options)
    const { preRun = [] } = emscriptenOpts
    this.#answerNothingAfterFault(engine)
    return {
      emscriptenOpts: {
        ...emscriptenOpts,
        preRun: [...preRun, ({ NODEFS }) => this.#answerFsync(NODEFS)],
      },
    }
  }

  /**
   * @throws Error if the engine has another bridge, because commits would silently not be durable.
   */
  #answerFsync(bridge: object): void {
    if (!isFileBridge(bridge)) throw new Error('This engine does not support durable commits.')
    const fsync = ({ nfd, node }: OpenFile): number => {
      try {
        if (nfd === undefined) syncPath(bridge.realPath(node))
        else fsyncSync(nfd)
      } catch (cause) {
        this.#fault = new Problem('unavailable', {
          detail: 'The disk does not store data durably.',
          cause,
        })
        throw this.#fault
      }
      return 0
    }
    Object.assign(bridge.stream_ops, { fsync })
  }

  // Every message passes here, including a rollback.
  #answerNothingAfterFault(engine: PGlite): void {
    const execute = engine.execProtocolRawSync.bind(engine)
    engine.execProtocolRawSync = (message) => {
      if (this.#fault) throw this.#fault
      const answer = execute(message)
      // The engine catches errors that are thrown through it, and continues.
      if (this.#fault) throw this.#fault
      return answer
    }
  }
}

/** The parts of the engine's bridge to the files (Emscripten's NODEFS) that are used here. */
interface FileBridge {
  /** Gets an `fsync` that is called for an open file. */
  readonly stream_ops: object
  realPath(node: unknown): string
}

/** An open file has a descriptor of this machine; an open folder has none. */
interface OpenFile {
  readonly nfd?: number
  readonly node: unknown
}

const isFileBridge = (value: object): value is FileBridge =>
  'stream_ops' in value && typeof value.stream_ops === 'object' && 'realPath' in value

/** Writes a file, or the names in a folder, to the disk. */
export function syncPath(path: string): void {
  const descriptor = openSync(path, 'r')
  try {
    fsyncSync(descriptor)
  } finally {
    closeSync(descriptor)
  }
}

/** Files that are put on the disk at a time: the disk takes several in one go. */
const syncsAtOnce = 8

/** Puts a folder with all that is in it on the disk. */
export async function syncTree(folder: string): Promise<void> {
  const names = await readdir(folder, { recursive: true })
  const paths = [folder, ...names.map((name) => join(folder, name))].values()
  const syncEach = async () => {
    for (const path of paths) {
      const file = await open(path, 'r')
      await file.sync().finally(() => file.close())
    }
  }
  await Promise.all(Array.from({ length: syncsAtOnce }, syncEach))
}
