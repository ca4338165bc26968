import { openToken } from '../../src/hsm/pkcs11/client.ts'
import { openPkcs11Hsm, openPkcs11KeyEngine } from '../../src/hsm/pkcs11/hsm.ts'
import { openSoftHsm } from '../support/softhsm.ts'
import { hsmContract } from './contract.ts'

const softHsm = openSoftHsm()

hsmContract(
  'PKCS#11',
  async () => {
    const token = await openToken(await softHsm.createToken())
    const engine = openPkcs11KeyEngine(token)
    return { engine, openHsm: (options) => openPkcs11Hsm({ token, ...options }) }
  },
  softHsm.leftOut,
)
