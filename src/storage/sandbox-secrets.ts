import { type Connection, firstRow, statement } from './database.ts'

const insertStatement = statement(
  'insert_sandbox_secret',
  `insert into sandbox_secret (secret_name, sealed) values ($1, $2)
   on conflict (secret_name) do nothing`,
)
const findStatement = statement(
  'find_sandbox_secret',
  'select sealed from sandbox_secret where secret_name = $1',
)

/** A sealed secret of the sandbox, or null. */
export const findSandboxSecret = async (
  connection: Connection,
  secretName: string,
): Promise<Uint8Array | null> =>
  firstRow(await connection.query<{ sealed: Uint8Array }>(findStatement, [secretName]))?.sealed ??
  null

/** Keeps a sealed secret, unless another process was first. */
export const insertSandboxSecret = async (
  connection: Connection,
  secretName: string,
  sealed: Uint8Array,
): Promise<void> => {
  await connection.query(insertStatement, [secretName, sealed])
}
