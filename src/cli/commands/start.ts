import { readConfig } from '../../config.ts'
import { describeStartFailure } from '../../service/start-failure.ts'
import { Unreachable } from '../cli-error.ts'
import type { Command } from '../command.ts'

export const startCommand: Command = {
  words: 'start',
  summary: 'runs the service until it is stopped',
  description:
    'The environment says how (README.md lists it); without any it is the sandbox, on loopback.\nWith --json one line says where it listens, once it does; log lines follow it.',
  example: 'LOG_LEVEL=warn pinfold start',
  async run({ options }) {
    const { serve } = await import('../../service/serve.ts')
    const config = readConfig()
    const { baseUrl, dataDir, privateUrl, processorPath, sandbox } = config
    const ready = { ready: true, baseUrl, privateUrl, processorPath, sandbox, dataDir }
    const service = await serve(config).catch((error: unknown) => {
      const reason = describeStartFailure(error)
      throw typeof reason === 'string' ? new Unreachable(reason, { cause: error }) : error
    })
    console.log(options.json ? JSON.stringify(ready) : service.welcome)
    return null
  },
}
