import { onKey, type SharedStatement, statement } from './database.ts'

/** A read as its two statements are made of it. */
interface RowReadParts<Types extends readonly ('text' | 'integer')[]> {
  readonly columns: string
  /** The types of the parts of its key. */
  readonly key: Types
  /** The tables, joined, and the condition: at most one row, given how each part of its key is written. */
  readonly from: (...parts: { [At in keyof Types]: string }) => string
}

/** Declares a read of at most one row by its key. */
export function rowRead<const Types extends readonly ('text' | 'integer')[]>(
  name: string,
  { columns, from, key }: RowReadParts<Types>,
): SharedStatement {
  type Parts = { [At in keyof Types]: string }
  const values = key.map((type, at) => `$${at + 1}::${type}`) as unknown as Parts
  const parts = key.map((_, at) => `asked.v${at + 1}`) as unknown as Parts
  return {
    isRead: true,
    isCommon: noneCommon,
    one: statement(name, `select ${columns} from ${from(...values)}`),
    several: statement(
      `${name}_several`,
      // The limit keeps the planner from joining whole tables, whatever it takes them for.
      `with ${askedText(key)}
       select asked.ordinal::int as "ordinal", found.*
       from asked cross join lateral (select ${columns} from ${from(...parts)} limit 1) as found`,
    ),
  }
}

const noneCommon = (): boolean => false

/** What is asked of a statement for several: columns `v1`, `v2`, … and the `ordinal` of each who asks. */
const askedText = (
  types: readonly string[],
  isCommon: SharedStatement['isCommon'] = noneCommon,
) => {
  const listed = types.map((type, at) => ({ type, at })).filter(({ at }) => !isCommon(at))
  return `asked as materialized (
    select * from unnest(${listed.map(({ at, type }) => `$${at + 1}::${type}[]`).join(', ')})
      with ordinality as asked (${listed.map(({ at }) => `v${at + 1}`).join(', ')}, ordinal)
  )`
}

/** A change as its two statements are made of it. */
interface SharedChangeParts {
  /** The types of its values. */
  readonly types: readonly string[]
  /** Those that are the same for all of one statement: how many, from which place on. */
  readonly common?: { readonly from: number; readonly count: number }
  /**
   * What comes after `with`: first what the form locks; on that row hangs all else. It ends by answering, from
   * a part that carries what was asked.
   */
  readonly text: (form: ChangeForm) => string
}

interface ListedRows {
  readonly key: Readonly<Record<string, string>>
  readonly number: string
}

/** How a change is written, for one or for several. */
interface ChangeForm {
  /** The part `askers`, with a row for each who asks: for what locks nothing. */
  readonly askers: string
  /** Makes the part `locked` of what is to be locked, a `select` of at most one row for each who asks. */
  readonly lock: (select: string) => string
  /**
   * Makes a part of another one and of what is to be locked once that is done.
   * @param select is given a condition to end with, before its `limit`.
   */
  readonly lockAfter: (name: string, part: string, select: (condition: string) => string) => string
  /**
   * Names rows of a table that a part lists: those of one key, of which it has the values, told apart by a number.
   * However many others there are of that key, they are not looked at.
   */
  readonly isListed: (table: string, part: string, rows: ListedRows) => string
  /** What a part returns besides its own columns, so that the values are at hand in those that hang on it. */
  readonly carried: string
  /** What is answered of each who was done. @param part carries what was asked. */
  readonly answered: (part: string) => string
  /** Joins two parts: the rows of the same who asks. */
  readonly isSame: (part: string, other: string) => string
}

const forOne: ChangeForm = {
  askers: 'askers as (select 1 as one)',
  lock: (select) => `locked as materialized (${select})`,
  // A cluster locks no row of what is joined with others.
  lockAfter: (name, part, select) => `own as materialized (
      ${select(`and (select count(*) from ${part}) >= 0`)}
    ), ${name} as (select * from ${part} cross join own)`,
  // A cluster finds their node by a value, not by a join.
  isListed: (table, part, { key, number }) => {
    const [[first, value] = [], ...others] = Object.entries(key)
    return [
      `${table}.${first} = any(array[${value}])`,
      ...others.map(([column, value]) => `${table}.${column} = ${value}`),
      `${table}.${number} between (select min(${number}) from ${part}) and (select max(${number}) from ${part})`,
      `${table}.${number} = ${part}.${number}`,
    ].join(' and ')
  },
  carried: '',
  answered: () => '1 as "ordinal"',
  isSame: () => 'true',
}

const forSeveral = (asked: readonly string[]): ChangeForm => ({
  askers: 'askers as (select * from asked)',
  // It waits for nobody: of whom a row is locked, he is left out.
  lock: (select) => `locked as materialized (
    select asked.*, own.* from asked cross join lateral (${select} skip locked) as own
  )`,
  lockAfter: (name, part, select) => `${name} as materialized (
      select ${part}.*, own.* from ${part} cross join lateral (${select('')}) as own
    )`,
  isListed: (table, part, { key, number }) => onKey(table, part, [...Object.keys(key), number]),
  carried: `, ${asked.join(', ')}`,
  answered: (part) => `${part}.ordinal::integer as "ordinal"`,
  isSame: (part, other) => `${part}.ordinal = ${other}.ordinal`,
})

/**
 * Declares a change of what one subject has. The text for several is that for one, with columns of a list in the place of the
 * values: where that for one has `$3`, that for several has `v3`.
 */
export function sharedChange(
  name: string,
  { common, text, types }: SharedChangeParts,
): SharedStatement {
  const isCommon = (at: number): boolean =>
    common !== undefined && at >= common.from && at < common.from + common.count
  const write = (sql: string, written: (at: number) => string): string =>
    sql.replaceAll(/\$(\d+)/g, (_, number) => written(number - 1))
  const own = (at: number): string => `$${at + 1}::${types[at]}`
  const listed = (at: number): string => (isCommon(at) ? own(at) : `v${at + 1}`)
  const asked = types.map((_, at) => listed(at)).filter((_, at) => !isCommon(at))
  const textForSeveral = write(text(forSeveral(['ordinal', ...asked])), listed)
  return {
    isRead: false,
    isCommon,
    one: statement(name, `with ${write(text(forOne), own)}`),
    several: statement(`${name}_several`, `with ${askedText(types, isCommon)}, ${textForSeveral}`),
  }
}
