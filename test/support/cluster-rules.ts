/**
 * What Citus refuses, as rules over the text of a statement: `test/storage/engine/cluster.test.ts`
 * holds the same statements against a real cluster, and these rules against what that one refuses.
 * The words of the engine are in `multi_router_planner.c` and `query_pushdown_planning.c` of its
 * sources.
 */
import { placement } from '../../src/storage/engine/placement.ts'

/** By table, the column that its rows are spread by. */
const columnsByTable = new Map(
  placement.spread.flatMap(({ column, tables }) => tables.map((table) => [table, column] as const)),
)

/** A part of a statement in parentheses, or the whole of it. */
interface Part {
  /** What stands before the parenthesis, from the one before. */
  readonly before: string
  readonly text: string
  /** The same without what its own parentheses hold. */
  readonly own: string
  /** The same without what lists before it (`with … as (…)`) hold. */
  readonly command: string
  readonly parts: readonly Part[]
}

/** Literals, comments and line breaks say nothing about the shape of a statement. */
const withoutLiterals = (text: string): string =>
  text
    .replaceAll(/--.*$/gm, '')
    .replaceAll(/'(?:[^']|'')*'/g, "''")
    .replaceAll(/\s+/g, ' ')

const isList = /\bas\s+(?:materialized\s+)?$/

/** @param from where the part begins in the text. @returns it, and where it ends. */
function parsePart(text: string, from: number, before: string): readonly [Part, number] {
  const parts: Part[] = []
  let [own, command, lastEnd, end] = ['', '', from, from]
  while (end < text.length && text[end] !== ')') {
    if (text[end] === '(') {
      const around = text.slice(lastEnd, end)
      const [part, endOfPart] = parsePart(text, end + 1, around)
      own += `${around}()`
      command += `${around}(${isList.test(around) ? '' : part.command})`
      parts.push(part)
      end = endOfPart
      lastEnd = end + 1
    }
    end += 1
  }
  const rest = text.slice(lastEnd, end)
  const part = {
    before,
    text: text.slice(from, end),
    own: own + rest,
    command: command + rest,
    parts,
  }
  return [part, end]
}

const allParts = (part: Part): readonly Part[] => [part, ...part.parts.flatMap(allParts)]

/** A table as a part names it. */
interface NamedTable {
  readonly table: string
  readonly alias: string
}

const words =
  'on|where|join|cross|left|inner|as|set|order|limit|using|group|for|union|returning|select|values|default'
const tablePattern = new RegExp(
  `\\b(?:from|join|update|into|using)\\s+(?:only\\s+)?([a-z_]+)\\b(?:\\s+(?:as\\s+)?(?!(?:${words})\\b)([a-z_]+))?`,
  'g',
)

const namedTables = ({ own }: Part): readonly NamedTable[] =>
  [...own.matchAll(tablePattern)].map(([, table = '', alias = table]) => ({ table, alias }))

const spreadTables = (part: Part): readonly NamedTable[] =>
  namedTables(part).filter(({ table }) => columnsByTable.has(table))

/** Whether a part says by one value which shard of a table it is about. */
const isPinned = ({ text }: Part, { table }: NamedTable): boolean =>
  new RegExp(`\\b${columnsByTable.get(table)}\\s*=\\s*(?:any\\(array\\[)?\\s*(?:\\$\\d|'')`).test(
    text,
  )

const isUnpinned = (part: Part): boolean =>
  spreadTables(part).some((table) => !isPinned(part, table))

/** Whether it names what stands in a part around it. */
function isCorrelated(part: Part): boolean {
  const inside = new Set(
    allParts(part).flatMap((each) =>
      namedTables(each).flatMap(({ alias, table }) => [alias, table]),
    ),
  )
  const names = [...part.text.matchAll(/\b([a-z_]+)\.[a-z_"]/g)].map(([, name = '']) => name)
  const given = new Set([...part.text.matchAll(/\bas ([a-z_]+)/g)].map(([, name = '']) => name))
  return names.some((name) => !inside.has(name) && !given.has(name))
}

/** What makes rows of several shards meet on the coordinator. */
const isMerged = ({ own }: Part): string | null => {
  if (/\b(?:limit|offset)\b/.test(own)) return 'a limit'
  if (/\b(?:count|sum|min|max|bool_or|bool_and|array_agg|json_agg)\(\)/.test(own)) {
    return /\bgroup by\b/.test(own) ? null : 'an aggregate'
  }
  return null
}

/** A change of a spread table, without what its lists before it hold. */
function findChange({ command }: Part): string | null {
  const changed =
    /\bupdate\s+([a-z_]+)/.exec(command) ??
    /\bdelete\s+from\s+([a-z_]+)/.exec(command) ??
    /\binsert\s+into\s+([a-z_]+)[\s\S]*\bdo\s+update/.exec(command)
  return changed && columnsByTable.has(changed[1] ?? '') ? command.slice(changed.index) : null
}

const cases = (change: string): readonly string[] => change.match(/\bcase\b[\s\S]*?\bend\b/g) ?? []
const isCaseOfValue = /\bcase\s+(?!when\b)/
const caseOfValue = 'a case of one value in a change'
const isVolatile =
  /\b(?:random|gen_random_uuid|clock_timestamp|timeofday|nextval|statement_timestamp)\(/
const isStable = /\b(?:now\(|current_timestamp\b|current_date\b|localtimestamp\b)/

/** What no change of a spread table may have. */
const changeRules: readonly (readonly [string, (change: string) => boolean])[] = [
  ['a volatile function in a change', (change) => isVolatile.test(change)],
  [
    'a stable function in a case of a change',
    (change) => cases(change).some((each) => isStable.test(each)),
  ],
  [
    'a stable function in a coalesce of a change',
    (change) => /\bcoalesce\([^)]*\bnow\(/.test(change),
  ],
  // Not refused: a parameter is compared with nothing then, on the coordinator, and no branch is
  // taken.
  [caseOfValue, (change) => isCaseOfValue.test(change)],
  [
    'a function in what a change returns',
    (change) => /\breturning\b[\s\S]*\b(?:to_char|now|clock_timestamp)\(/.test(change),
  ],
]

/** An insert evaluates its values on the coordinator as a change does. */
function findInsertRefusal({ command }: Part): string | null {
  const inserted = /\binsert\s+into\s+([a-z_]+)/.exec(command)
  if (!inserted || !columnsByTable.has(inserted[1] ?? '')) return null
  return isCaseOfValue.test(command.slice(inserted.index)) ? caseOfValue : null
}

const isSelect = ({ own }: Part): boolean => /^\s*(?:with\b|select\b)/.test(own)

function findMergeRefusal(part: Part): string | null {
  const merged = isMerged(part)
  if (!merged || !isSelect(part) || !isUnpinned(part)) return null
  if (/\blateral\s*$/.test(part.before)) return `${merged} in a lateral subquery over shards`
  return isCorrelated(part) ? `${merged} in a correlated subquery over shards` : null
}

function findLockRefusal(part: Part): string | null {
  if (!/\bfor (?:no key )?update\b|\bfor (?:key )?share\b/.test(part.own)) return null
  if (!isUnpinned(part)) return null
  return `rows locked over shards by a select${/\bskip locked\b/.test(part.own) ? ', skipping locked ones' : ''}`
}

const isCoordinatorTable = ({ table }: NamedTable): boolean =>
  placement.coordinator.some((name) => name === table)

const findPlacesRefusal = (part: Part): string | null =>
  spreadTables(part).length > 0 && namedTables(part).some(isCoordinatorTable)
    ? 'a table of the coordinator beside a spread one'
    : null

/**
 * Why a cluster would refuse a statement, or answer something else than one server; empty: by no
 * rule.
 */
export function listRefusals(statementText: string): readonly string[] {
  const [whole] = parsePart(withoutLiterals(statementText), 0, '')
  const refusals = allParts(whole).flatMap((part) => {
    const change = findChange(part)
    const ofChange = changeRules
      .filter(([, isBroken]) => change !== null && isBroken(change))
      .map(([refusal]) => refusal)
    return [
      findMergeRefusal(part),
      findLockRefusal(part),
      findPlacesRefusal(part),
      findInsertRefusal(part),
      ...ofChange,
    ]
  })
  return [...new Set(refusals.filter((refusal) => refusal !== null))]
}
