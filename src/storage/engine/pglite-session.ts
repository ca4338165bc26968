import { type messages, type PGlite, protocol, types } from '@electric-sql/pglite'
import type { SqlValue, Statement } from './database.ts'

const { serialize } = protocol

/** The functions of an embedded PostgreSQL that a session uses. */
type SessionEngine = Pick<PGlite, 'execProtocolStream' | 'parsers' | 'ready' | 'serializers'>

/** The single session of an embedded engine. It runs one statement at a time; callers queue. */
export interface PgliteSession {
  /** Returns the rows of a statement. */
  query<Row>(statement: Statement, values?: readonly SqlValue[]): Promise<Row[]>
  /**
   * Runs SQL text with any number of statements.
   * @returns the engine's name of the last command.
   */
  script(text: string): Promise<string>
}

/** A prepared statement. */
interface Prepared {
  readonly text: string
  /** The types of its parameters, as the engine inferred them. */
  readonly valueTypes: readonly number[]
  readonly fields: readonly messages.Field[]
}

/**
 * Opens a session that uses the engine's protocol, like a client of a server. A statement is parsed
 * once and then executed by name in one exchange; the engine's own call parses, plans and describes
 * it each time, in six.
 */
export function openSession(engine: SessionEngine): PgliteSession {
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
      // Closes a statement of this name whose preparation failed.
      serialize.close({ type: 'S', name }),
      serialize.parse({ name, text }),
      serialize.describe({ type: 'S', name }),
      serialize.sync(),
    )
    const prepared = {
      text,
      valueTypes: answered.find(isNamed('parameterDescription'))?.dataTypeIDs ?? [],
      fields: answered.find(isNamed('rowDescription'))?.fields ?? [],
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
          // Bytes are sent as they are, other values as text in the form of their type.
          values: values.map((value, at) => {
            if (value === null || value instanceof Uint8Array) return value
            const serializeValue = engine.serializers[valueTypes[at] ?? -1]
            return serializeValue ? serializeValue(value) : String(value)
          }),
        }),
        serialize.execute(),
        serialize.sync(),
      )
      return answered.filter(isNamed('dataRow')).map((row) => {
        const members = fields.map(({ dataTypeID, name }, at) => [
          name,
          types.parseType(row.fields[at] ?? null, dataTypeID, engine.parsers),
        ])
        return Object.fromEntries(members) as Row
      })
    },
    async script(text) {
      const answered = await exchange(serialize.query(text))
      return answered.findLast(isNamed('commandComplete'))?.text ?? ''
    },
  }
}

/** The engine's messages, by type. */
interface Answers {
  readonly parameterDescription: messages.ParameterDescriptionMessage
  readonly rowDescription: messages.RowDescriptionMessage
  readonly dataRow: messages.DataRowMessage
  readonly commandComplete: messages.CommandCompleteMessage
}

const isNamed =
  <Name extends keyof Answers>(name: Name) =>
  (message: messages.BackendMessage): message is Answers[Name] =>
    message.name === name
