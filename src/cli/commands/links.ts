import {
  type Command,
  findText,
  given,
  limitOption,
  parseLimit,
  parseList,
  parseNumber,
  reasonOption,
  requireText,
} from '../command.ts'
import { asAdministrator } from '../connection/connection.ts'
import { line, sheet, table } from '../output.ts'

interface ListedLink {
  readonly linkName: string
  readonly networkId: string
  readonly direction: string
  readonly host: string
  readonly port: number
  readonly profile: string
  readonly state: string
  readonly fault: string | null
  readonly lastSignedOnAt: string | null
}

interface ListedAdvice {
  readonly receivedAt: string
  readonly messageType: string
  readonly publicToken: string | null
  readonly reference: string | null
  readonly trace: string | null
  readonly amount: string | null
  readonly currency: string | null
  readonly responseCode: string | null
}

const linkOptions = {
  host: {
    type: 'string',
    value: 'HOST',
    help: 'the address to listen at or to dial',
    pointer: '/host',
  },
  port: { type: 'string', value: 'PORT', help: 'its port', pointer: '/port' },
  profile: {
    type: 'string',
    value: 'NAME',
    help: 'the format of its messages: ascii-1987, binary-1987, …',
    pointer: '/profile',
  },
  tls: { type: 'boolean', help: 'with the certificates of the private listener', pointer: '/tls' },
  certificates: {
    type: 'string',
    value: 'LIST',
    help: 'SHA-256 of the accepted certificates of the network, base64url',
    pointer: '/certificates',
  },
  peers: {
    type: 'string',
    value: 'LIST',
    help: 'addresses that may connect without a certificate',
    pointer: '/peers',
  },
  'zone-master-key': {
    type: 'string',
    value: 'ZMK',
    help: 'the zone master key for key exchange',
    pointer: '/zoneMasterKey',
  },
  ...reasonOption,
} as const

const parseLink = (call: Parameters<Command['run']>[0]) =>
  given({
    host: findText(call, 'host'),
    port: parseNumber(call, 'port'),
    profile: findText(call, 'profile'),
    tls: call.options.tls === true ? true : undefined,
    certificates: parseList(call, 'certificates'),
    peers: parseList(call, 'peers'),
    zoneMasterKey: findText(call, 'zone-master-key'),
    reason: findText(call, 'reason'),
  })

export const linkCommands: readonly Command[] = [
  {
    words: 'links list',
    summary: 'lists the ISO 8583 connections of card networks, with their state',
    options: limitOption,
    example: 'pinfold links list',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const links = await readAll<ListedLink>('/links', parseLimit(call))
        const rows = links.map((link) => [
          link.linkName,
          link.networkId,
          `${link.direction} ${link.host}:${link.port}`,
          link.profile,
          link.state,
          link.lastSignedOnAt?.slice(0, 19) ?? '-',
        ])
        const headings = ['LINK', 'NETWORK', 'WHERE', 'PROFILE', 'STATE', 'LAST SIGN-ON']
        const faults = links.flatMap(({ fault, linkName }) =>
          fault === null ? [] : [line`${linkName}: ${fault}`],
        )
        const text = [table(headings, rows), ...faults].join('\n')
        return { json: links, text }
      }),
  },
  {
    words: 'links advices',
    names: ['LINK'],
    summary: 'lists the advices and reversals of a network, newest first',
    options: limitOption,
    example: 'pinfold links advices acme-1',
    run: (call) =>
      asAdministrator(call, async ({ readAll }) => {
        const path = `/links/${encodeURIComponent(call.names[0] ?? '')}/advices`
        const advices = await readAll<ListedAdvice>(path, parseLimit(call))
        const rows = advices.map((advice) => [
          advice.receivedAt.slice(0, 19),
          advice.messageType,
          advice.publicToken ?? '-',
          advice.reference ?? '-',
          advice.trace ?? '-',
          advice.amount ?? '-',
          advice.currency ?? '-',
          advice.responseCode ?? '-',
        ])
        const headings = ['AT', 'TYPE', 'CARD', 'REFERENCE', 'TRACE', 'AMOUNT', 'CURRENCY', '39']
        return { json: advices, text: table(headings, rows) }
      }),
  },
  {
    words: 'links create',
    names: ['LINK'],
    namePointers: { '/linkName': 'LINK' },
    summary: 'registers a link of a network; it connects within seconds',
    options: {
      network: {
        type: 'string',
        value: 'CLIENT',
        help: 'the network of the link',
        pointer: '/networkId',
      },
      dial: {
        type: 'boolean',
        help: 'connect to the network; by default, wait for its connection',
      },
      ...linkOptions,
    },
    example:
      'pinfold links create acme-1 --network acme-network --host 10.1.0.5 --port 8583 ' +
      '--profile ascii-1987 --peers 10.1.0.9',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const link = await ask<ListedLink>('POST', '/links', {
          linkName: call.names[0],
          networkId: requireText(call, 'network'),
          direction: call.options.dial === true ? 'dial' : 'listen',
          ...parseLink(call),
        })
        return { json: link, text: sheet(link) }
      }),
  },
  {
    words: 'links change',
    names: ['LINK'],
    summary: 'changes the given members of a link, or disables it; its connections end',
    options: {
      ...linkOptions,
      disable: { type: 'boolean', help: 'disables the link', excludes: ['enable'] },
      enable: { type: 'boolean', help: 'enables it again' },
    },
    example: 'pinfold links change acme-1 --disable',
    run: (call) =>
      asAdministrator(call, async ({ ask }) => {
        const { disable, enable } = call.options
        const active = disable === true ? false : enable === true ? true : undefined
        const path = `/links/${encodeURIComponent(call.names[0] ?? '')}`
        const link = await ask<ListedLink>('PATCH', path, {
          ...parseLink(call),
          ...given({ active }),
        })
        return { json: link, text: sheet(link) }
      }),
  },
]
