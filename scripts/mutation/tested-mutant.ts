/** A mutant that was tested, how some of them are drawn, and the plug-ins by which Stryker does both. */
import { createHash } from 'node:crypto'
import { relative } from 'node:path'

type MutantResult = {
  readonly id: string
  readonly fileName: string
  readonly mutatorName: string
  readonly replacement?: string
  readonly location: { readonly start: { readonly line: number; readonly column: number } }
  readonly status: string
}

export type TestedMutant = {
  readonly file: string
  readonly line: number
  readonly column: number
  readonly mutator: string
  readonly replacement: string
  readonly isFound: boolean
  /** Found because no test ended any more. */
  readonly isEndless: boolean
}

/** Some of all mutants: each of them with the same probability, the same ones for the same seed. */
export type Draw = { readonly share: number; readonly seed: string }

/** `share seed`: how a draw reaches the programs that Stryker starts. */
const drawVariable = 'MUTANTS_DRAWN'
export const drawEnvironment = ({ seed, share }: Draw) => ({ [drawVariable]: `${share} ${seed}` })

const isDrawn = (id: string): boolean => {
  const [share = '1', seed] = process.env[drawVariable]?.split(' ') ?? []
  const place = createHash('sha256').update(`${seed} ${id}`).digest().readUInt32BE() / 2 ** 32
  return place < Number(share)
}

/** Called for each mutant as soon as its fate is known. */
export const listener: { tested: (mutant: TestedMutant) => void } = { tested: () => {} }

/** Found by a test that failed, or by one that did not end; the others compile to nothing that runs. */
const found = ['Killed', 'Timeout']
const missed = ['Survived', 'NoCoverage']

class TellingReporter {
  onMutantTested(result: MutantResult): void {
    if (![...found, ...missed].includes(result.status) || !isDrawn(result.id)) return
    listener.tested({
      file: relative(process.cwd(), result.fileName),
      line: result.location.start.line,
      column: result.location.start.column,
      mutator: result.mutatorName,
      replacement: result.replacement ?? '',
      isFound: found.includes(result.status),
      isEndless: result.status === 'Timeout',
    })
  }
}

/** Says of the mutants that were not drawn that they need not be tested. */
class DrawingChecker {
  async init(): Promise<void> {}

  async group(mutants: readonly { readonly id: string }[]): Promise<string[][]> {
    return [mutants.map(({ id }) => id)]
  }

  async check(mutants: readonly { readonly id: string }[]): Promise<object> {
    return Object.fromEntries(
      mutants.map(({ id }) => [
        id,
        isDrawn(id) ? { status: 'passed' } : { status: 'compileError', reason: 'not drawn' },
      ]),
    )
  }
}

/** What Stryker looks for in a plug-in. */
export const strykerPlugins = [
  { kind: 'Checker', name: 'drawing', injectableClass: DrawingChecker },
  { kind: 'Reporter', name: 'telling', injectableClass: TellingReporter },
]
