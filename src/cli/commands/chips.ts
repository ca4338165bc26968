import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, table } from '../output.ts'
import { parseToken } from './cards.ts'

interface CardChip {
  readonly chips: readonly {
    readonly panSequenceNumber: string
    readonly highestAtc: number
    readonly keyVersion: number
    readonly remainingOfflineTries?: number
    readonly reportedAt?: string
  }[]
  readonly commands: readonly {
    readonly commandNumber: number
    readonly command: string
    readonly tag?: string
    readonly panSequenceNumber?: string
    readonly state: string
    readonly queuedAt: string
    readonly sentAt?: string
    readonly sentCount: number
    readonly endedAt?: string
  }[]
}

const commandOptions: cli.Options = {
  chip: {
    type: 'string',
    value: 'NUMBER',
    help:
      'the chip, by its PAN sequence number; by default the highest that was seen; ' +
      'block_card needs it, unless exactly one was seen',
    pointer: '/panSequenceNumber',
  },
  tag: {
    type: 'string',
    value: 'TAG',
    help: 'with put_data: the tag, of two bytes, such as 9F58',
    pointer: '/tag',
  },
  value: {
    type: 'string',
    value: 'HEX',
    help: 'with put_data: the value, which must be no secret and contain no card number',
    pointer: '/value',
  },
}

function formatChips({ chips }: CardChip): string {
  if (chips.length === 0) return 'No chip of the card was online yet.'
  const rows = chips.map((chip) => [
    chip.panSequenceNumber,
    chip.highestAtc,
    chip.keyVersion,
    chip.remainingOfflineTries,
    chip.reportedAt,
  ])
  return table(['CHIP', 'HIGHEST COUNTER', 'KEYS', 'OFFLINE TRIES', 'REPORTED'], rows)
}

function formatCommands({ commands }: CardChip): string {
  if (commands.length === 0) return 'No command was queued for the chip.'
  const rows = commands.map((command) => [
    command.commandNumber,
    command.panSequenceNumber,
    line`${command.command}${command.tag === undefined ? '' : ` ${command.tag}`}`,
    command.state,
    command.queuedAt,
    command.sentAt,
    command.sentCount,
    command.endedAt,
  ])
  const columns = ['NUMBER', 'CHIP', 'COMMAND', 'STATE', 'QUEUED', 'LAST SENT', 'TIMES', 'ENDED']
  return table(columns, rows)
}

/** Chips of cards, as a client system. */
export const chipCommands: readonly cli.Command[] = [
  {
    words: 'chips show',
    names: ['CARD'],
    summary: 'shows the chips of a card, and the commands to them',
    connection: cli.clientConnection,
    example: 'pinfold chips show 4820117360',
    run: (call) => {
      const publicToken = parseToken(call)
      return asClient(call, async ({ ask, base }) => {
        const json = await ask<CardChip>('GET', `${base}/cards/${publicToken}/chip`)
        return { json, text: `${formatChips(json)}\n\n${formatCommands(json)}` }
      })
    },
  },
  {
    words: 'chips command',
    names: ['CARD', 'COMMAND'],
    namePointers: { '/command': 'COMMAND' },
    options: commandOptions,
    summary: 'queues a command to the chip of a card',
    description:
      'COMMAND is block_application, unblock_application, block_card or put_data. It travels in ' +
      'the answer to the\nnext online transaction of the chip. No command undoes block_card. ' +
      'pins set and pins unblock queue the commands\nfor the PIN.',
    connection: cli.clientConnection,
    example: 'pinfold chips command 4820117360 block_application',
    run: (call) => {
      const publicToken = parseToken(call)
      const [, command = ''] = call.names
      const object = {
        panSequenceNumber: cli.findText(call, 'chip'),
        tag: cli.findText(call, 'tag')?.toUpperCase(),
        value: cli.findText(call, 'value'),
      }
      return asClient(call, async ({ ask, base }) => {
        const body = { command, ...cli.given(object) }
        const path = `${base}/cards/${publicToken}/chip/commands`
        const json = await ask<{ readonly commandNumber: number }>('POST', path, body)
        const text = `Command ${json.commandNumber} waits for the chip of card ${publicToken}.`
        return { json, text }
      })
    },
  },
]
