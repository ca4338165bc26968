/** A wire that keeps every byte that goes over it, in both directions. */
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { after } from 'node:test'

export type Recorder = {
  url: string
  recorded: () => Buffer
}

/** @param targetPort where it leads. Nobody needs to listen there yet. */
export const record = async (targetPort: number): Promise<Recorder> => {
  const chunks: Buffer[] = []
  const server = createServer((near) => {
    const far = connect(targetPort, '127.0.0.1')
    for (const [from, to] of [[near, far] as const, [far, near] as const]) {
      from.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        to.write(chunk)
      })
      from.on('end', () => to.end())
      from.on('error', () => to.destroy())
      from.on('close', () => to.destroy())
    }
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  after(() => server.close())
  const address = server.address()
  if (typeof address !== 'object' || !address) throw new Error('The recorder has no port.')
  return { url: `http://127.0.0.1:${address.port}`, recorded: () => Buffer.concat(chunks) }
}
