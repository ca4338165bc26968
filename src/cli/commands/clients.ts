import * as cli from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { readJsonFile } from '../files.ts'
import { sheet, table } from '../output.ts'

interface Client {
  readonly clientId: string
  readonly clientName: string
  readonly kind: string
  readonly scopes: readonly string[]
  readonly active: boolean
  readonly authentication: string
  readonly productIds: readonly number[]
  readonly credentialsVersion: number
  readonly clientSecret?: string
}

const settings: cli.Options = {
  name: { type: 'string', value: 'TEXT', help: 'the name for display', pointer: '/clientName' },
  scopes: {
    type: 'string',
    value: 'LIST',
    help: 'with commas, such as cards.read,cards.write',
    pointer: '/scopes',
  },
  products: {
    type: 'string',
    value: 'LIST',
    help: 'the productIds that it may issue',
    pointer: '/productIds',
  },
  'bound-tokens': {
    type: 'string',
    value: 'yes|no',
    help: 'whether its tokens are bound to its TLS certificate (RFC 8705)',
    pointer: '/certificateBoundTokens',
  },
  'public-jwk': {
    type: 'string',
    value: 'FILE',
    help: 'its public key or keys (JWK), instead of a secret',
    pointer: '/jwks',
  },
  ...cli.reasonOption,
}

export const clientCommands: readonly cli.Command[] = [
  {
    words: 'clients list',
    summary: 'lists clients: client systems, networks, administrators',
    options: cli.limitOption,
    example: 'pinfold clients list',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const clients = await readAll<Client>('/clients', cli.parseLimit(call))
        return {
          json: clients,
          text: table(
            ['CLIENT', 'NAME', 'KIND', 'PROVES ITSELF BY', 'PRODUCTS', 'ACTIVE'],
            clients.map(({ active, authentication, clientId, clientName, kind, productIds }) => [
              clientId,
              clientName,
              kind,
              authentication,
              productIds,
              active,
            ]),
          ),
        }
      }),
  },
  {
    words: 'clients show',
    names: ['CLIENT'],
    summary: 'shows a client, with its scopes and products',
    example: 'pinfold clients show demo-client',
    run: (call) => change(call, 'GET'),
  },
  {
    words: 'clients create',
    names: ['CLIENT'],
    namePointers: { '/clientId': 'CLIENT' },
    summary: 'registers a client; its secret is shown only now',
    description: 'With --public-jwk it has no secret and proves itself by private_key_jwt.',
    options: {
      ...settings,
      kind: {
        type: 'string',
        value: 'KIND',
        help: 'client, network or admin; by default client',
        pointer: '/kind',
      },
    },
    example:
      "pinfold clients create acme --name 'Acme Bank' --scopes cards.read,cards.write " +
      '--products 1001',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const client = await ask<Client>('POST', '/clients', {
          clientId: call.names[0],
          kind: cli.findText(call, 'kind') ?? 'client',
          ...(await parseMembers(call)),
          clientName: cli.requireText(call, 'name'),
          scopes: cli.requireText(call, 'scopes').split(','),
        })
        return { json: client, text: withSecretNote(sheet(client), client.clientSecret) }
      }),
  },
  {
    words: 'clients change',
    names: ['CLIENT'],
    summary: 'changes the given members of a client',
    options: settings,
    example: 'pinfold clients change acme --scopes cards.read',
    run: async (call) => change(call, 'PATCH', await parseMembers(call)),
  },
  {
    words: 'clients disable',
    names: ['CLIENT'],
    summary: 'disables a client: it is rejected everywhere within 60 seconds',
    options: cli.reasonOption,
    example: 'pinfold clients disable acme',
    run: (call) => switchClient(call, false),
  },
  {
    words: 'clients enable',
    names: ['CLIENT'],
    summary: 'enables a client again',
    options: cli.reasonOption,
    example: "pinfold clients enable acme --reason 'Their new key is verified'",
    run: (call) => switchClient(call, true),
  },
  {
    words: 'clients rotate-secret',
    names: ['CLIENT'],
    summary: 'sets another secret, which is shown only now; the old one stays valid for some hours',
    options: {
      'overlap-hours': {
        type: 'string',
        value: 'N',
        help: '0 to 168; by default 24',
        pointer: '/overlapHours',
      },
      'secret-hash': {
        type: 'string',
        value: 'HEX',
        help: 'SHA-256 of a secret that you generated; required if another person approves this',
        pointer: '/secretHash',
      },
      ...cli.reasonOption,
    },
    example: 'pinfold clients rotate-secret acme --overlap-hours 48',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const overlapHours = cli.parseNumber(call, 'overlap-hours')
        const rotated = await ask<{ clientSecret?: string }>(
          'POST',
          `${composePath(call)}/rotate-secret`,
          cli.given({
            overlapHours,
            secretHash: cli.findText(call, 'secret-hash'),
            reason: cli.findText(call, 'reason'),
          }),
        )
        return { json: rotated, text: withSecretNote(sheet(rotated), rotated.clientSecret) }
      }),
  },
  {
    words: 'clients confirm',
    names: ['CLIENT'],
    summary: 'confirms that only the administrator holds its credentials',
    description:
      'The caller is an administrator who did not register the client or issue its ' +
      'credentials. First compare its keys (clients show) with their owner, and name the ' +
      'credentialsVersion that you compared. By default, the present version is confirmed.',
    options: {
      'credentials-version': {
        type: 'string',
        value: 'N',
        help: 'the version of the credentials that you compared',
        pointer: '/credentialsVersion',
      },
    },
    example: 'pinfold clients confirm ana --credentials-version 1',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const credentialsVersion =
          cli.parseNumber(call, 'credentials-version') ??
          (await ask<Client>('GET', composePath(call))).credentialsVersion
        const client = await ask<Client>('POST', `${composePath(call)}/confirm`, {
          credentialsVersion,
        })
        return { json: client, text: sheet(client) }
      }),
  },
]

const composePath = ({ names: [name = ''] }: cli.Call): string =>
  `/clients/${encodeURIComponent(name)}`

const change = (call: cli.Call, method: string, body?: object): Promise<cli.Outcome> =>
  asAdministrator(call, async ({ ask }) => {
    const client = await ask<Client>(method, composePath(call), body)
    return { json: client, text: sheet(client) }
  })

const switchClient = (call: cli.Call, active: boolean): Promise<cli.Outcome> =>
  change(call, 'PATCH', cli.given({ active, reason: cli.findText(call, 'reason') }))

/** A lost secret can only be rotated. */
export const withSecretNote = (text: string, secret: string | undefined): string =>
  secret === undefined ? text : `${text}\n\nStore the secret now: it is not shown again.`

async function parseMembers(call: cli.Call): Promise<Record<string, unknown>> {
  const file = cli.findText(call, 'public-jwk')
  return cli.given({
    clientName: cli.findText(call, 'name'),
    scopes: cli.parseList(call, 'scopes'),
    certificateBoundTokens: cli.parseYesNo(call, 'bound-tokens'),
    productIds: cli.parseList(call, 'products')?.map(Number),
    jwks: file === undefined ? undefined : await readJsonFile(file),
    reason: cli.findText(call, 'reason'),
  })
}
