import { type messages, type PGlite, protocol, types } from '@electric-sql/pglite'
import type { SqlValue, Statement } from './database.ts'

const { serialize } = protocol

/** The one session of an embedded engine. Whoever uses it takes turns: it does one thing at a time. */
export interface PgliteSession {
  /** The rows that a statement answers. */
  query<Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>
  /** Runs SQL text with any number of statements. @returns what the engine calls the last thing it did. */
  script(text: string): Promise<string>
}

/** A statement as the engine knows it. */
interface Prepared {
  readonly text: string
  /** The types of its values, as the engine has found them to be. */
  readonly valueTypes: readonly number[]
  readonly fields: readonly messages.Field[]
}

/**
 * Speaks to the engine by its protocol, as a client of a server would. A statement is parsed once and is then run by
 * its name, in one exchange; the engine's own call parses, plans and describes it each time, in six.
 */
export function openSession(engine: PGlite): PgliteSession {
  const preparedByName = new Map<string, Prepared>()

  function exchange(...parts: readonly Uint8Array[]): Promise<messages.BackendMessage[]> {
    if (!engine.ready) throw new Error('The database is closed.')
    return engine.execProtocolStream(Buffer.concat(parts), { syncToFs: false })
  }

  async function prepare({ name, text }: Statement): Promise<Prepared> {
    const known = preparedByName.get(name)
    if (known?.text === text) return known
    if (known) throw new Error(`Two statements have the name ${name}.`)
    const answered = await exchange(
      // One of this name that was refused halfway.
      serialize.close({ type: 'S', name }),
      serialize.parse({ name, text }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    )
    const prepared = {
      text,
      valueTypes: answered.find(isOfValues)?.dataTypeIDs ?? [],
      fields: answered.find(isOfFields)?.fields ?? [],
    }
    preparedByName.set(name, prepared)
    return prepared
  }

  return {
    async query<Row>(statement: Statement, values: readonly SqlValue[] = []): Promise<Row[]> {
      const { fields, valueTypes } = await prepare(statement)
      const answered = await exchange(
        serialize.bind({
          statement: statement.name,
          values: values.map((value, at) => encode(engine, value, valueTypes[at])),
        }),
        serialize.execute(),
        serialize.sync(),
      )
      return answered.filter(isRow).map((row) => decode(engine, row, fields) as Row)
    },
    async script(text) {
      const answered = await exchange(serialize.query(text))
      return answered.findLast(isCommand)?.text ?? ''
    },
  }
}

/** Bytes travel as they are, all else as the text that its type has. */
function encode(
  { serializers }: PGlite,
  value: SqlValue,
  type: number | undefined,
): string | Uint8Array | null {
  if (value === null || value instanceof Uint8Array) return value
  const serializeValue = type === undefined ? undefined : serializers[type]
  return serializeValue ? serializeValue(value) : String(value)
}

const decode = (
  { parsers }: PGlite,
  row: messages.DataRowMessage,
  fields: Prepared['fields'],
): object =>
  Object.fromEntries(
    fields.map(({ dataTypeID, name }, at) => [
      name,
      types.parseType(row.fields[at] ?? null, dataTypeID, parsers),
    ]),
  )

const isOfValues = (
  message: messages.BackendMessage,
): message is messages.ParameterDescriptionMessage => message.name === 'parameterDescription'

const isOfFields = (message: messages.BackendMessage): message is messages.RowDescriptionMessage =>
  message.name === 'rowDescription'

const isRow = (message: messages.BackendMessage): message is messages.DataRowMessage =>
  message.name === 'dataRow'

const isCommand = (message: messages.BackendMessage): message is messages.CommandCompleteMessage =>
  message.name === 'commandComplete'
