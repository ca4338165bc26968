import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import type { AxeResults, RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

const axe = await readFile(fileURLToPath(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

/** What axe finds, each with the elements that it finds it in. */
export const faults = async (page: Page): Promise<string[]> => {
  // By the browser's own tools: the page's policy would let no such script in.
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axe)
  // What was in order is a hundred times as much, and nobody reads it.
  return page.evaluate(async () => {
    const { axe } = window as unknown as {
      axe: { run: (options: RunOptions) => Promise<AxeResults> }
    }
    const { violations } = await axe.run({ resultTypes: ['violations'] })
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(' ')}`)
  })
}
