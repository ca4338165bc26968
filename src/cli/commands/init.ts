import { randomBytes } from 'node:crypto'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join, resolve } from 'node:path'
import { type Command, UsageError } from '../command.ts'

const deploy = new URL('../../../deploy/', import.meta.url)

interface NewFile {
  readonly text: () => Promise<string> | string
  readonly mode?: number
  /** Its use by a person. */
  readonly use: string
}

const createCopy = (path: string) => () => readFile(new URL(path, deploy), 'utf8')

const files: Readonly<Record<string, NewFile>> = {
  'pinfold.env': {
    text: createCopy('init/pinfold.env'),
    mode: 0o600,
    use: 'the configuration, which npx pinfold start reads',
  },
  'client.mjs': {
    text: createCopy('init/client.mjs'),
    use: 'a client system: node client.mjs, while the service is running',
  },
  'compose.yaml': {
    text: createCopy('container/compose.yaml'),
    use: 'two processes on a PostgreSQL server: docker compose up --build',
  },
  '.env': {
    text: () => `DATABASE_PASSWORD=${randomBytes(24).toString('hex')}\n`,
    mode: 0o600,
    use: 'the password of that server, generated for this folder',
  },
  '.gitignore': {
    text: () => '.data/\n.env\nnode_modules/\n',
    use: 'excludes secrets from a repository',
  },
}

export const initCommand: Command = {
  words: 'init',
  names: ['[FOLDER]'],
  summary: 'writes a folder to start from: configuration, client, compose file',
  description: 'Existing files are not changed.',
  connection: [],
  example: 'pinfold init cards',
  async run({ names: [folder = '.'] }) {
    await mkdir(folder, { recursive: true })
    const written: string[] = []
    const kept: string[] = []
    for (const [name, { mode = 0o644, text }] of Object.entries(files)) {
      const isNew = await writeFile(join(folder, name), await text(), { flag: 'wx', mode }).then(
        () => true,
        (error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') return false
          throw new UsageError(`${join(folder, name)} cannot be written: ${error.code}.`)
        },
      )
      ;(isNew ? written : kept).push(name)
    }
    const width = Math.max(...Object.keys(files).map(({ length }) => length))
    const lines = Object.entries(files).map(
      ([name, { use }]) => `  ${name.padEnd(width)}  ${kept.includes(name) ? 'was there' : use}`,
    )
    const inFolder = folder === '.' ? '' : `cd ${folder} && `
    return {
      json: { folder: resolve(folder), written, kept },
      text: [...lines, '', `Next: ${inFolder}npx pinfold start`].join('\n'),
    }
  },
}
