import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { sheet } from '../output.ts'
import { parseToken } from './cards.ts'

interface CardChip {
  readonly chips: readonly object[]
  readonly commands: readonly {
    readonly commandNumber: number
    readonly command: string
    readonly state: string
  }[]
}

const commandOptions: cli.Options = {
  tag: {
    type: 'string',
    value: 'TAG',
    help: 'with put_data: the tag, of two bytes, such as 9F58',
    pointer: '/tag',
  },
  value: {
    type: 'string',
    value: 'HEX',
    help: 'with put_data: the value, which must be no secret',
    pointer: '/value',
  },
}

/** Chips of cards, as a client system. */
export const chipCommands: readonly cli.Command[] = [
  {
    words: 'chips show',
    names: ['CARD'],
    summary: 'what is known of the chip of a card, and the commands to it',
    connection: cli.clientConnection,
    example: 'pinfold chips show 4820117360',
    run: (call) => {
      const publicToken = parseToken(call)
      return asClient(call, async ({ ask, base }) => {
        const json = await ask<CardChip>('GET', `${base}/cards/${publicToken}/chip`)
        const chips = json.chips.map((chip) => sheet(chip))
        const commands = json.commands.map(
          ({ command, commandNumber, state }) => `${commandNumber} ${command}: ${state}`,
        )
        const known = chips.length > 0 ? chips : ['No chip of the card was online yet.']
        return { json, text: [...known, ...commands].join('\n') }
      })
    },
  },
  {
    words: 'chips command',
    names: ['CARD', 'COMMAND'],
    options: commandOptions,
    summary: 'queues a command to the chip of a card',
    description:
      'COMMAND is block_application, unblock_application, block_card or put_data. It travels in\n' +
      '  the answer to the next online transaction of the chip.',
    connection: cli.clientConnection,
    example: 'pinfold chips command 4820117360 block_application',
    run: (call) => {
      const publicToken = parseToken(call)
      const [, command = ''] = call.names
      const object = {
        tag: cli.findText(call, 'tag'),
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
