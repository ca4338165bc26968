import { type Engine, startEngine } from '../../src/storage/engine/pglite.ts'
import { atEndOfProcess } from './end-of-file.ts'
import { checkpoint } from './engine-checkpoint.ts'
import { imageInMemory, type PgliteImage } from './pglite-image.ts'

/**
 * Embedded engines in memory that are used again: one that is closed is taken back to what it was when it was new,
 * for the next who asks for one of its kind.
 */

type Started = Awaited<ReturnType<typeof startEngine>>

type Reusable = {
  engine: Started
  takeBack: () => void
}

/** Few files have more open at once. Each holds a tenth of a GB; to start another has all garbage looked for. */
const keptOfKind = 8

const kept = new Map<PgliteImage, Set<Started>>()
const idle = new Map<PgliteImage, Reusable[]>()

export const engineAsNew = async (image: PgliteImage): Promise<Engine> => {
  const waiting = idle.get(image) ?? []
  idle.set(image, waiting)
  const again = waiting.pop()
  if (again) {
    again.takeBack()
    return lent(again.engine, async () => void waiting.push(again))
  }
  const engine = await startEngine(await imageInMemory(image))
  const ofKind = kept.get(image) ?? new Set()
  kept.set(image, ofKind)
  if (ofKind.size >= keptOfKind) return engine
  ofKind.add(engine)
  // A library that was loaded later would be gone from the memory, and still there for who loads it.
  await engine.exec('do $$ begin end $$')
  const reusable = { engine, takeBack: checkpoint(engine) }
  return lent(engine, async () => void waiting.push(reusable))
}

// An open one has timers that would hold a process for ten seconds after its last test.
atEndOfProcess(async () => {
  for (const engines of kept.values()) for (const engine of engines) await engine.close()
})

/** The engine until it is closed by whom it was lent. */
const lent = (engine: Started, giveBack: () => Promise<void>): Engine => {
  let isOpen = true
  return {
    get ready() {
      return isOpen && engine.ready
    },
    parsers: engine.parsers,
    serializers: engine.serializers,
    execProtocolStream: (...call) => engine.execProtocolStream(...call),
    close: async () => {
      if (!isOpen) throw new Error('The engine is closed.')
      isOpen = false
      await giveBack()
    },
  }
}
