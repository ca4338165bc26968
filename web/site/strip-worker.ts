import { stripTypeScriptTypes } from 'node:module'
import { parentPort } from 'node:worker_threads'

parentPort?.on('message', (texts: readonly string[]) => {
  parentPort?.postMessage(texts.map((text) => stripTypeScriptTypes(text)))
})
