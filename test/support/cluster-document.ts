import { readFile } from 'node:fs/promises'

/** The statements that docs/reference/cluster.md lists under a heading, by their names. */
export async function listDocumented(heading: string): Promise<readonly string[]> {
  const text = await readFile(new URL('../../docs/reference/cluster.md', import.meta.url), 'utf8')
  const [, part = ''] = text.split(`### ${heading}\n`)
  const [rows = ''] = part.split('\n#')
  return [...rows.matchAll(/^\| (`[^|]+`) \|/gm)]
    .flatMap(([, cell = '']) => [...cell.matchAll(/`([a-z_0-9]+)`/g)])
    .map(([, name = '']) => name)
    .sort()
}
