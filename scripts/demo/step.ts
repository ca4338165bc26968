import type { SandboxFile } from '../../src/sandbox/sandbox-file.ts'

/** Who calls: the members of `sandbox.json` that hold credentials. */
export type Actor = 'client' | 'otherClient' | 'network' | 'admin'

/** One request. Card networks and administration call the private listener, the others the public one. */
export interface Call {
  readonly as: Actor
  readonly method: 'GET' | 'POST' | 'PUT'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: object
}

export interface Answer {
  readonly status: number
  readonly headers: Headers
  /** The JSON that came, or null where nothing came. */
  readonly body: unknown
}

/** What the steps of one run know of each other. */
export interface Journey {
  readonly sandbox: SandboxFile
  /** What every path of the specification begins with: `/thr/processor`. */
  readonly base: string
  /** By names that the steps agree on: `card`, `pin`. */
  readonly memory: Map<string, string>
}

/** One request and what must be answered. */
export interface Step {
  readonly title: string
  /** A sentence for whoever watches. */
  readonly note?: string
  readonly call: (journey: Journey) => Call
  readonly status: number
  /** The `code` of the problem document, where a refusal is what must be answered. */
  readonly problem?: string
  /** Checks the answer further, and remembers what later steps need. Throws what is wrong. */
  readonly check?: (answer: Answer, journey: Journey) => void
}

/** Steps that belong together. To add one, list it in scenarios.ts. */
export interface Scenario {
  readonly title: string
  readonly steps: readonly Step[]
}

/** What an earlier step remembered. */
export function recall({ memory }: Journey, name: string): string {
  const value = memory.get(name)
  if (value === undefined) throw new Error(`No step before this one remembered “${name}”.`)
  return value
}
