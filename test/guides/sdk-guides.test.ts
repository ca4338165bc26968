import { cp, mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { before, test } from 'node:test'
import { writeSandboxFile } from '../../src/sandbox/sandbox-file.ts'
import { openProject, type Project, packSdk } from '../support/packed-sdk.ts'
import { openServedService } from '../support/served-service.ts'
import { assertShown, readGuide, scriptOf } from './guide.ts'

let project: Project
let folder: string
before(async () => {
  const service = await openServedService()
  project = await openProject()
  // What the guide to the first card leaves behind.
  folder = join(dirname(project.folder), 'first-card')
  await mkdir(folder)
  await cp(await writeSandboxFile(project.folder, service.sandbox), join(folder, 'sandbox.json'))
  await project.run(`npm init --yes && npm install ${await packSdk(project)}`, folder)
})

const guides: [title: string, name: string][] = [
  ['a PIN is sealed, shown, blocked and unblocked', 'set-and-show-a-pin.md'],
  ['card data is opened on the device alone', 'card-data-on-a-device.md'],
  ['a webhook is received and a forgery refused', 'receive-webhooks.md'],
]

for (const [title, name] of guides) {
  test(`by the guide ${name}, ${title}`, async () => {
    const blocks = await readGuide(name)
    assertShown(blocks, await project.run(scriptOf(blocks), folder))
  })
}
