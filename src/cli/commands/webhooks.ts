import { randomBytes } from 'node:crypto'
import { encodeWebhookSecret, type WebhookSecret } from '../../domain/webhook-secret.ts'
import * as cli from '../command.ts'
import { asClient } from '../connection/connection.ts'
import { line, print, printBeside } from '../output.ts'
import { followEvents } from './events.ts'

const answerTimeoutMs = 10_000

export const webhookCommand: cli.Command = {
  words: 'webhooks listen',
  summary: 'forwards events to your address as signed webhooks, until it is stopped',
  description:
    'For the development of a receiver: no webhook is registered, and each event is sent once. ' +
    'The\nsecret for the signatures is new at each start, and is printed first.',
  connection: cli.clientConnection,
  options: {
    'forward-to': { type: 'string', value: 'URL', help: 'the address of your receiver' },
    types: {
      type: 'string',
      value: 'LIST',
      help: 'only these types, separated by commas: pin.blocked,pin.set',
    },
    count: { type: 'string', value: 'N', help: 'ends after this number of events' },
  },
  example: 'pinfold webhooks listen --forward-to http://127.0.0.1:3000/webhooks',
  run: (call) => {
    const url = parseTarget(call)
    return asClient(call, async (service) => {
      const secret = encodeWebhookSecret(randomBytes(32))
      printBeside(`The signing secret is ${secret.reveal()}`)
      const types = cli.findText(call, 'types')
      await followEvents(service, call, types, async (event) => {
        const { id, ...message } = JSON.parse(event) as { id: string; type: string }
        const result = await send(url, secret, id, JSON.stringify(message))
        const { type } = message
        print(call.options.json ? JSON.stringify({ id, type, result }) : line`${type}  ${result}`)
      })
      return null
    })
  },
}

function parseTarget(call: cli.Call): string {
  const url = cli.requireText(call, 'forward-to')
  if (URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)) return url
  throw new cli.UsageError('--forward-to must be a URL that begins with http:// or https://.')
}

/** Posts a message (Standard Webhooks 1.0.0). @returns the status, or the reason for none. */
async function send(url: string, secret: WebhookSecret, id: string, body: string): Promise<string> {
  const timestamp = String(Math.floor(Date.now() / 1_000))
  try {
    const { status } = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'webhook-id': id,
        'webhook-timestamp': timestamp,
        'webhook-signature': secret.sign(id, timestamp, body),
      },
      body,
      redirect: 'manual',
      signal: AbortSignal.timeout(answerTimeoutMs),
    })
    return String(status)
  } catch {
    return `no answer from ${url}`
  }
}
