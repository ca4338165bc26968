/** A mutant that was tested, and the reporter by which Stryker tells of it while it works. */
import { relative } from 'node:path'

type MutantResult = {
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

/** Called for each mutant as soon as its fate is known. */
export const listener: { tested: (mutant: TestedMutant) => void } = { tested: () => {} }

/** Found by a test that failed, or by one that did not end; the others compile to nothing that runs. */
const found = ['Killed', 'Timeout']
const missed = ['Survived', 'NoCoverage']

class TellingReporter {
  onMutantTested(result: MutantResult): void {
    if (![...found, ...missed].includes(result.status)) return
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

/** What Stryker looks for in a plug-in. */
export const strykerPlugins = [
  { kind: 'Reporter', name: 'telling', injectableClass: TellingReporter },
]
