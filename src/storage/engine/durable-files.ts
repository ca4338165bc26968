import { closeSync, fsyncSync, openSync } from 'node:fs'
import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { PGlite } from '@electric-sql/pglite'
import { NodeFS } from '@electric-sql/pglite/nodefs'
import { Problem } from '../../domain/problem.ts'

type Opened = Awaited<ReturnType<NodeFS['init']>>

/**
 * The files of an embedded database, in a folder of this machine. The engine asks for what is
 * committed to be on the disk (`fsync`), but its own bridge to the files has no answer to that and
 * lets it pass: here the disk is asked. Where the disk refuses, nothing is answered any more until
 * the next start, as a server would end itself: what lies in memory and what lies on the disk are
 * no longer the same.
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
   * @throws Error where the engine has another bridge: nothing would say that commits are not kept.
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

  // Every message goes by here, also the one that would roll a transaction back.
  #answerNothingAfterFault(engine: PGlite): void {
    const execute = engine.execProtocolRawSync.bind(engine)
    engine.execProtocolRawSync = (message) => {
      if (this.#fault) throw this.#fault
      const answer = execute(message)
      // The engine takes what is thrown through it for its own, and goes on.
      if (this.#fault) throw this.#fault
      return answer
    }
  }
}

/** What of the engine's bridge to the files (Emscripten's NODEFS) is needed here. */
interface FileBridge {
  /** Has an `fsync` where one is to be called for a file that is open. */
  readonly stream_ops: object
  realPath(node: unknown): string
}

/** A file has a descriptor of this machine; a folder that is open has none. */
interface OpenFile {
  readonly nfd?: number
  readonly node: unknown
}

const isFileBridge = (value: object): value is FileBridge =>
  'stream_ops' in value && typeof value.stream_ops === 'object' && 'realPath' in value

/** Puts a file, or the names in a folder, on the disk. */
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
