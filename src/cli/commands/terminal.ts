import { once } from 'node:events'
import { connect } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { pinKeys, requestCardData } from '../../../sdk/device/device.ts'
import { escapeLine } from '../../domain/terminal-text.ts'
import { loadProfiles } from '../../listeners/iso8583/profile.ts'
import type { Profile } from '../../listeners/iso8583/profile-schema.ts'
import * as terminals from '../../listeners/iso8583/terminal.ts'
import { readSandboxFile, type SandboxFile } from '../../sandbox/sandbox-file.ts'
import { readConfig } from '../../service/config/config.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, print } from '../output.ts'

/** What is known of a card that is played with. */
interface TestCard extends terminals.PresentedCard {
  readonly pin: string
  readonly cvv2: string
}

/** One message of the conversation, and the response code that it must have. */
interface Turn {
  readonly title: string
  readonly due: string
  readonly got: string
}

export const terminalCommand: cli.Command = {
  words: 'terminal',
  summary: 'plays a card network on a link of the sandbox: purchases, repeats, reversals',
  description:
    'It signs on, sends an echo, purchases with right and wrong PINs and CVV2s, a repeat and a reversal, and shows\nboth sides decoded, with PANs masked. Without --pan it makes a card of the sandbox for it. Exits with 1 where an\nanswer is another than it should be.',
  options: {
    host: {
      type: 'string',
      value: 'HOST',
      help: 'where the link listens; the sandbox’s own unless given',
    },
    port: { type: 'string', value: 'PORT', help: 'its port' },
    profile: { type: 'string', value: 'NAME', help: 'how its messages are; sandbox unless given' },
    pan: {
      type: 'string',
      value: 'DIGITS',
      help: 'a card that is there, with --expiry, --pin and --cvv2',
    },
    expiry: { type: 'string', value: 'YYYY-MM', help: 'its expiry' },
    pin: { type: 'string', value: 'DIGITS', help: 'its PIN' },
    cvv2: { type: 'string', value: 'DIGITS', help: 'its CVV2' },
  },
  example: 'pinfold terminal',
  async run(call) {
    const sandbox = await readSandboxFile(readConfig().dataDir)
    if (!sandbox)
      throw new cli.UsageError('There is no sandbox here: its zone key is needed for PIN blocks.')
    const port = cli.numberOf(call, 'port') ?? sandbox.link?.port
    if (port === undefined)
      throw new cli.UsageError('The sandbox has no link (LINK_PORT=0): say --port.')
    const host = cli.textOf(call, 'host') ?? sandbox.link?.host ?? '127.0.0.1'
    const name = cli.textOf(call, 'profile') ?? 'sandbox'
    const profile = (await loadProfiles(readConfig().linkProfilesDir)).get(name)
    if (!profile) throw new cli.UsageError(`There is no profile ${name}.`)
    const pan = cli.textOf(call, 'pan')
    const needed = (option: string) => cli.neededOf(call, option)
    const card =
      pan === undefined
        ? await makeCard(call, sandbox)
        : { pan, expiry: needed('expiry'), pin: needed('pin'), cvv2: needed('cvv2') }
    const zoneKey = sandbox.network.zoneKeys.find(({ key }) => key === 'zone-a')?.value ?? ''
    const isSilent = call.options.json === true
    const turns = await play(
      { host, port, profile, zoneKey: Buffer.from(zoneKey, 'hex') },
      card,
      isSilent,
    )
    const wrong = turns.filter(({ due, got }) => due !== got)
    return {
      json: { server: `${host}:${port}`, turns },
      text: [
        `The server at ${host}:${port} answered:`,
        ...turns.map(({ due, got, title }) => line`${got === due ? '✔' : '✘'} ${got} ${title}`),
      ].join('\n'),
      exitCode: wrong.length === 0 ? cli.exitCodes.done : cli.exitCodes.refused,
    }
  },
}

/** A card of the sandbox, as its holder's device is shown it. */
const makeCard = (call: cli.Call, { baseUrl }: SandboxFile): Promise<TestCard> =>
  asClient(call, async ({ ask, base }) => {
    const { publicToken } = await ask<{ readonly publicToken: string }>('POST', `${base}/cards`, {
      cardType: 'Virtual',
      cardProduct: 1001,
      cardHolder: { firstName: 'Ana', lastName: 'Lim', dateOfBirth: '1990-04-17' },
      address: { addressLine1: 'Calle Mayor 1', postCode: '28013', country: 'ESP' },
    })
    const { pin } = await ask<{ readonly pin: string }>(
      'GET',
      `${base}/card-pin/${publicToken}/pin`,
    )
    for (let waitedMs = 0; ; waitedMs += 1_000) {
      try {
        const keys = pinKeys(baseUrl, await ask('GET', '/.well-known/jwks.json'))
        const request = await requestCardData(keys, publicToken)
        const sealed = await ask('POST', `${base}/cards/${publicToken}/encrypted`, request.body)
        const { cvv, expiryDate, pan } = await request.open(sealed)
        return { pan, expiry: expiryDate, pin, cvv2: cvv }
      } catch (error) {
        // At the first start its keys are made beside everything else.
        if (waitedMs > keysMs) throw error
        await wait(1_000)
      }
    }
  })

/** How long the keys for card data are waited for. */
const keysMs = 30_000

interface LinkAddress {
  readonly host: string
  readonly port: number
  readonly profile: Profile
  readonly zoneKey: Uint8Array
}

const otherDigits = (digits: string): string =>
  digits.slice(0, -1) + ((Number(digits.at(-1)) + 1) % 10)

/** The conversation from sign-on to reversal. */
async function play(
  { host, port, profile, zoneKey }: LinkAddress,
  card: TestCard,
  isSilent: boolean,
): Promise<readonly Turn[]> {
  const socket = connect({ host, port })
  await once(socket, 'connect').catch((cause: Error) => {
    throw new cli.Unreachable(`Nobody listens at ${host}:${port}.`, { cause })
  })
  const terminal = terminals.openTerminal(profile, socket, (side, lines) => {
    if (!isSilent) print(`${side}\n${lines.map(escapeLine).join('\n')}\n`)
  })
  const turns: Turn[] = []
  const turn = async (title: string, due: string, ask: () => ReturnType<typeof terminal.ask>) => {
    if (!isSilent) print(`— ${title} —\n`)
    turns.push({ title, due, got: (await ask()).fields['39'] ?? '' })
  }
  const tried = terminals.withPin(terminals.purchaseOf(card), otherDigits(card.pin), zoneKey)
  const right = terminals.withPin(terminals.purchaseOf(card), card.pin, zoneKey)
  try {
    await turn('sign-on', '00', () => terminal.signOn())
    await turn('echo', '00', () => terminal.echo())
    await turn('a purchase with a wrong PIN', '55', () => terminal.ask(tried))
    await turn('its repeat: the same answer, and no second try', '55', () =>
      terminal.ask(terminals.repeatOf(tried)),
    )
    await turn('a purchase with the right PIN', '00', () => terminal.ask(right))
    const online = terminals.withCvv2(terminals.purchaseOf(card), otherDigits(card.cvv2))
    await turn('a purchase with a wrong CVV2', 'N7', () => terminal.ask(online))
    const paid = terminals.withCvv2(terminals.purchaseOf(card), card.cvv2)
    await turn('a purchase with the right CVV2', '00', () => terminal.ask(paid))
    await turn('its reversal, which gives no try back', '00', () =>
      terminal.ask(terminals.takingBack(paid)),
    )
    return turns
  } finally {
    terminal.close()
  }
}
