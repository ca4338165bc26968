import { decisionFormats, endpointModes, fallbackKinds } from '../../domain/decision.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import type { ServiceConnection } from '../connection/requests.ts'
import { readJsonFile } from '../files.ts'
import { line } from '../output.ts'
import { listenCommand } from './decision-listen.ts'
import { decisionRecordCommands } from './decision-records.ts'

interface EndpointVersion {
  readonly version: number
  readonly url: string | null
  readonly timeoutMs: number
  readonly maxInFlight: number
  readonly fallback: {
    readonly onTimeout: string
    readonly onError: string
    readonly rule: string | null
  }
  readonly mode: string
  readonly sample: number
  readonly format: string
}

interface Endpoint {
  readonly productId: number | null
  readonly draft: EndpointVersion | null
  readonly enforced: EndpointVersion | null
  readonly previous: EndpointVersion | null
  readonly shadow: EndpointVersion | null
  readonly degradedSince: string | null
  readonly signingKeys: readonly SigningKey[]
  readonly secret?: string
}

interface SigningKey {
  readonly keyId: string
  readonly publicKey: string
  readonly signsUntil: string | null
}

const productOption: cli.Options = {
  product: {
    type: 'string',
    value: 'PRODUCT',
    help: 'the endpoint of this product; the one for all products unless given',
    pointer: '/productId',
  },
}

const settingOptions: cli.Options = {
  file: {
    type: 'string',
    value: 'FILE',
    help: 'the settings as JSON; the other options take precedence over it',
  },
  'endpoint-url': {
    type: 'string',
    value: 'URL',
    help: 'where requests are sent; to the stream unless given',
    pointer: '/url',
  },
  'timeout-ms': {
    type: 'string',
    value: 'N',
    help: 'the time for an answer, 100 to 2500; 1500 unless given',
    pointer: '/timeoutMs',
  },
  'max-in-flight': {
    type: 'string',
    value: 'N',
    help: 'how many requests may wait at once, 1 to 1000; 100 unless given',
    pointer: '/maxInFlight',
  },
  mode: {
    type: 'string',
    value: 'MODE',
    help: `${endpointModes.join(' or ')}; enforce unless given`,
    pointer: '/mode',
  },
  sample: {
    type: 'string',
    value: 'PERCENT',
    help: 'the share of authorizations that it is asked about; 100 unless given',
    pointer: '/sample',
  },
  format: {
    type: 'string',
    value: 'FORMAT',
    help: `${decisionFormats.join(' or ')}; pinfold unless given`,
    pointer: '/format',
  },
  'on-timeout': {
    type: 'string',
    value: 'KIND',
    help: `${fallbackKinds.join(', ')}: replaces a late answer; decline unless given`,
    pointer: '/fallback/onTimeout',
  },
  'on-error': {
    type: 'string',
    value: 'KIND',
    help: `${fallbackKinds.join(', ')}: replaces an unusable answer; decline unless given`,
    pointer: '/fallback/onError',
  },
  rule: {
    type: 'string',
    value: 'CEL',
    help: 'the expression of the kind rule',
    pointer: '/fallback/rule',
  },
}

/** Where a client decides its authorizations. */
const endpointCommands: readonly cli.Command[] = [
  {
    words: 'decisions endpoint show',
    summary: 'prints the decision endpoint: draft, versions in force, signing keys',
    options: productOption,
    connection: cli.clientConnection,
    example: 'pinfold decisions endpoint show',
    run: (call) =>
      asClient(call, async (service) => {
        const json = await service.ask<Endpoint>('GET', pathOf(call, service))
        return { json, text: describeEndpoint(json) }
      }),
  },
  {
    words: 'decisions endpoint set',
    summary: 'registers a draft of the decision endpoint; the first time, prints the secret',
    description:
      'It replaces all settings: an option that is left out gets its default. The draft decides\n' +
      'nothing until it is activated.',
    options: { ...productOption, ...settingOptions },
    connection: cli.clientConnection,
    example: 'pinfold decisions endpoint set --endpoint-url https://client.example/decide',
    run: (call) =>
      asClient(call, async (service) => {
        const settings = await readSettings(call)
        const json = await service.ask<Endpoint>('PUT', pathOf(call, service), settings)
        const next = json.draft === null ? [] : [composeNextStep(call)]
        return { json, text: [describeEndpoint(json), ...describeSecret(json), ...next].join('\n') }
      }),
  },
  {
    words: 'decisions endpoint activate',
    summary: 'puts the draft in force, after a signed ping that it must answer',
    options: productOption,
    connection: cli.clientConnection,
    example: 'pinfold decisions endpoint activate',
    run: (call) => change(call, '/activate'),
  },
  {
    words: 'decisions endpoint rollback',
    summary: 'puts the previous version in force at once',
    options: productOption,
    connection: cli.clientConnection,
    example: 'pinfold decisions endpoint rollback',
    run: (call) => change(call, '/rollback'),
  },
  {
    words: 'decisions endpoint rotate-secret',
    summary: 'makes new signing keys; the former ones also sign for 24 hours',
    connection: cli.clientConnection,
    example: 'pinfold decisions endpoint rotate-secret',
    run: (call) =>
      asClient(call, async ({ ask, base }) => {
        const path = `${base}/decision-endpoint/rotate-secret`
        const json = await ask<Pick<Endpoint, 'secret' | 'signingKeys'>>('POST', path)
        const keys = json.signingKeys.map(describeKey)
        return { json, text: [...keys, ...describeSecret(json)].join('\n') }
      }),
  },
  {
    words: 'decisions endpoint remove',
    summary: 'removes the endpoint from force, or ends the shadow version only',
    options: {
      ...productOption,
      'shadow-only': { type: 'boolean', help: 'ends the shadow version only' },
    },
    connection: cli.clientConnection,
    example: 'pinfold decisions endpoint remove',
    run: (call) =>
      asClient(call, async (service) => {
        const isShadowOnly = call.options['shadow-only'] === true
        const mode = isShadowOnly ? { mode: 'shadow' } : {}
        await service.ask('DELETE', pathOf(call, service, '', mode))
        const text = isShadowOnly
          ? 'The shadow version has ended.'
          : 'The endpoint is no longer in force.'
        return { json: {}, text }
      }),
  },
]

/** The decisions of a client on its authorizations. */
export const decisionCommands: readonly cli.Command[] = [
  ...decisionRecordCommands,
  listenCommand,
  ...endpointCommands,
]

function pathOf(
  call: cli.Call,
  { base }: Pick<ServiceConnection, 'base'>,
  act = '',
  members: Readonly<Record<string, string>> = {},
): string {
  const product = cli.parseNumber(call, 'product')
  const query = new URLSearchParams({
    ...(product !== undefined && { productId: String(product) }),
    ...members,
  })
  const text = query.size === 0 ? '' : `?${query}`
  return `${base}/decision-endpoint${act}${text}`
}

async function readSettings(call: cli.Call): Promise<object> {
  const path = cli.findText(call, 'file')
  const file: { readonly fallback?: object } = path === undefined ? {} : await readJsonFile(path)
  const fallback = {
    ...file.fallback,
    ...cli.given({
      onTimeout: cli.findText(call, 'on-timeout'),
      onError: cli.findText(call, 'on-error'),
      rule: cli.findText(call, 'rule'),
    }),
  }
  return {
    ...file,
    ...cli.given({
      url: cli.findText(call, 'endpoint-url'),
      timeoutMs: cli.parseNumber(call, 'timeout-ms'),
      maxInFlight: cli.parseNumber(call, 'max-in-flight'),
      mode: cli.findText(call, 'mode'),
      sample: cli.parseNumber(call, 'sample'),
      format: cli.findText(call, 'format'),
    }),
    ...(Object.keys(fallback).length > 0 && { fallback }),
  }
}

const change = (call: cli.Call, act: string): Promise<cli.Outcome> =>
  asClient(call, async (service) => {
    const json = await service.ask<Endpoint>('POST', pathOf(call, service, act))
    return { json, text: describeEndpoint(json) }
  })

function describeEndpoint(endpoint: Endpoint): string {
  const { degradedSince, draft, enforced, previous, shadow, signingKeys } = endpoint
  return [
    describeVersion('draft', draft),
    describeVersion('enforced', enforced),
    describeVersion('previous', previous),
    describeVersion('shadow', shadow),
    ...(degradedSince === null ? [] : [line`degraded since ${degradedSince}`]),
    ...signingKeys.map(describeKey),
  ].join('\n')
}

function describeVersion(name: string, version: EndpointVersion | null): string {
  if (version === null) return `${name.padEnd(10)}none`
  const { fallback, format, maxInFlight, mode, sample, timeoutMs, url } = version
  const { onError, onTimeout, rule } = fallback
  const target = url ?? 'the stream'
  const margin = ' '.repeat(10)
  return [
    line`${name.padEnd(10)}version ${version.version}: ${target}, ${timeoutMs} ms, ${sample}%`,
    line`${margin}${mode}, format ${format}, at most ${maxInFlight} in flight`,
    line`${margin}fallback: ${onTimeout} on time-out, ${onError} on error`,
    ...(rule === null ? [] : [line`${margin}rule: ${rule}`]),
  ].join('\n')
}

function composeNextStep(call: cli.Call): string {
  const product = cli.findText(call, 'product')
  const option = product === undefined ? '' : ` --product ${product}`
  return line`Not in force yet. Next: pinfold decisions endpoint activate${option}`
}

const describeKey = ({ keyId, publicKey, signsUntil }: SigningKey): string =>
  line`key       ${keyId} ${publicKey}${signsUntil === null ? '' : ` until ${signsUntil}`}`

const describeSecret = ({ secret }: Pick<Endpoint, 'secret'>): string[] =>
  secret === undefined ? [] : [line`The HMAC secret, shown only now: ${secret}`]
