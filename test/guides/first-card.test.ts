import assert from 'node:assert/strict'
import { cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { openProject } from '../support/packed-sdk.ts'
import { startProgram } from '../support/process.ts'
import { assertShown, readGuide, scriptOf } from './guide.ts'

test('the guide to the first card, followed to the letter in a clean folder, ends with a card', async () => {
  const [blocks, program, project] = await Promise.all([
    readGuide('first-card.md'),
    startProgram(),
    openProject(),
  ])
  // The first step is done already: the program that `npm start` starts runs, at other ports.
  const [start, ...rest] = blocks
  assert.equal(start?.text, 'npm ci\nnpm start\n')
  await mkdir(join(project.folder, '.data'))
  await cp(join(program.dataDir, 'sandbox.json'), join(project.folder, '.data/sandbox.json'))

  const printed = await project.run(scriptOf(rest))
  assertShown(rest, printed)
  const publicToken = /^Card ([0-9]{10}) is Active/m.exec(printed)?.[1]
  const token = await program.token()
  const card = await program.call('GET', `/cards/${publicToken}`, { token })
  assert.equal(card.status, 200)
  assert.equal(card.json.pinStatus.status, 'Unblocked')
  const pin = await program.call('GET', `/card-pin/${publicToken}/pin`, { token })
  assert.equal(pin.json.pin, '4821')

  // The machine's own Node ran it above; the one that the service runs on does it, too.
  const folder = join(dirname(project.folder), 'first-card')
  const again = await project.run(`"${process.execPath}" first-card.mjs`, folder)
  assertShown(rest, again)
})
