import { generateKeyPairSync } from 'node:crypto'
import { derivePersonId, type Person, type Role } from '../../../src/domain/person.ts'
import { carryOutApproved } from '../../../src/operations/approvals/carry-out.ts'
import { createPersonCaller, sql, type TestService } from '../../support/service.ts'

const issuer = 'https://people.example'

/** Makes a person with a role that signed in some seconds ago. */
export const makePerson = (
  subject: string,
  role: Role,
  { seconds = 0, at = issuer }: { seconds?: number; at?: string } = {},
): Person => ({
  personId: derivePersonId({ issuer: at, subject }),
  issuer: at,
  subject,
  name: `Name of ${subject}`,
  roles: [role],
  authenticatedAt: new Date(Date.now() - seconds * 1_000),
})

export type PersonCall = {
  body?: object
  key?: string
}

/** Asks the private listener as a person. */
export const callAs = async (
  service: TestService,
  person: Person,
  method: string,
  path: string,
  { body, key }: PersonCall = {},
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it expects to be there.
): Promise<{ status: number; body: any }> => {
  const { calls, privateServer } = service
  const caller = createPersonCaller(person)
  const { status, body: answered } = await calls.callAs(privateServer, '127.0.0.1:8080', caller, {
    method,
    path,
    body: body ?? null,
    idempotencyKey: key ?? null,
  })
  return { status, body: answered }
}

/** Asks the private listener as a client that has these scopes. */
export const callAsClient = async (
  service: TestService,
  clientId: string,
  scopes: readonly string[],
  method: string,
  path: string,
  { body, key }: PersonCall = {},
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts on what it expects to be there.
): Promise<{ status: number; body: any }> => {
  const caller = {
    clientId,
    kind: 'admin',
    scopes: new Set(scopes),
    person: null,
    boundThumbprint: null,
    expiresAt: new Date(Date.now() + 60_000),
  } as const
  const { status, body: answered } = await service.calls.callAs(
    service.privateServer,
    '127.0.0.1:8080',
    caller,
    { method, path, body: body ?? null, idempotencyKey: key ?? null },
  )
  return { status, body: answered }
}

/** Carries out what is approved, as a worker of the service does. */
export const carryOut = (service: TestService): Promise<void> =>
  carryOutApproved(
    service.approvals,
    service.sendApproved,
    crypto.randomUUID(),
    new AbortController().signal,
  )

/** What the audit log's acts say of an approval, in their order. */
export const stepsOf = async (service: TestService, approvalId: string): Promise<string[]> => {
  const rows = await sql<{ act: string }>(
    service.database,
    `select act from audit_act where subject_kind = 'approval' and subject = $1 order by number`,
    [approvalId],
  )
  return rows.map(({ act }) => act)
}

/** Public keys of a new client. */
export const newJwks = (): object => {
  const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: crypto.randomUUID() }] }
}
