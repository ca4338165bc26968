import { Check, Errors } from 'typebox/value'
import { LineCounter, parseDocument } from 'yaml'
import { UsageError } from '../command.ts'
import { type Scenario, ScenarioSchema } from './schema.ts'

/** A scenario with the lines of its file. */
export interface ScenarioFile {
  readonly path: string
  readonly scenario: Scenario
  /** Returns the line of a part, by the names and positions that lead to it. */
  findLine(at: readonly (string | number)[]): number
}

/** Limits aliases, which could make a small file huge. */
const aliasesMost = 100

/**
 * Parses a scenario file.
 * @throws UsageError with a line for each fault.
 */
export function parseScenario(path: string, text: string): ScenarioFile {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, uniqueKeys: true, version: '1.2' })
  const lineAt = (offset: number): number => lineCounter.linePos(offset).line
  const faults = document.errors.map(({ message, pos }) => {
    return `${path}:${lineAt(pos[0])}: ${message.split('\n')[0]?.replace(/ at line.*$/, '')}`
  })
  if (faults.length > 0) throw new UsageError(faults.join('\n'))
  const findLine = (at: readonly (string | number)[]): number => {
    for (let length = at.length; length > 0; length -= 1) {
      const node = document.getIn(at.slice(0, length), true) as { range?: number[] } | undefined
      const [offset] = node?.range ?? []
      if (offset !== undefined) return lineAt(offset)
    }
    return 1
  }
  const content = toContent(path, document)
  if (Check(ScenarioSchema, content)) return { path, scenario: content, findLine }
  // A member that no schema allows has a second error, which names it.
  const errors = [...Errors(ScenarioSchema, content)].filter(({ keyword }) => keyword !== 'boolean')
  const found = errors.map(({ instancePath, message, params }) => {
    const at = instancePath.split('/').slice(1)
    const unknown = 'additionalProperties' in params ? params.additionalProperties : []
    const names = [unknown].flat().map(String)
    const line = findLine([...at, ...names.slice(0, 1)].map(toPart))
    const what = names.length > 0 ? `unknown member ${names.join(', ')}` : message
    return `${path}:${line}: ${instancePath || 'the file'} ${what}`
  })
  throw new UsageError([...new Set(found)].join('\n'))
}

/** @throws UsageError when aliases would make it huge. */
function toContent(path: string, document: ReturnType<typeof parseDocument>): unknown {
  try {
    return document.toJS({ maxAliasCount: aliasesMost })
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw new UsageError(`${path}:1: ${why}`, { cause: error })
  }
}

const toPart = (part: string): string | number => (/^[0-9]+$/.test(part) ? Number(part) : part)
