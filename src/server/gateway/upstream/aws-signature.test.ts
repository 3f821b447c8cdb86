import assert from 'node:assert/strict'
import { test } from 'node:test'
import { signAws } from './aws-signature.ts'

const access = {
  region: 'eu-west-1',
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: undefined,
}
const origin = 'https://bedrock-runtime.eu-west-1.amazonaws.com'
const headers = { 'content-type': 'application/json', 'accept-encoding': 'identity' }
const body = Buffer.from('{"messages":[{"role":"user","content":[{"text":"Grüße"}]}]}')
const date = new Date('2026-11-21T12:00:00Z')

const profile = 'arn%3Aaws%3Abedrock%3Aeu-west-1%3A123456789012%3Aapplication-inference-profile%2Fabc'

/** Made with botocore 1.43.11. */
const vectors = [
  {
    name: 'a model id with a colon',
    path: '/model/anthropic.claude-sonnet-5-v1%3A0/converse',
    sessionToken: undefined,
    signedHeaders: 'accept-encoding;content-type;host;x-amz-date',
    signature: '5aeee407d4e5a1df9f84d4138df6d131a263e673665620a6751de1bd94b32b01',
  },
  {
    name: 'an ARN and a session token',
    path: `/model/${profile}/converse-stream`,
    sessionToken: 'the/session+token=',
    signedHeaders: 'accept-encoding;content-type;host;x-amz-date;x-amz-security-token',
    signature: '632da34120edea904e9baa52872bf5cdfb67123c1efdc86f85dd255d30d0282b',
  },
] as const

for (const { name, path, sessionToken, signedHeaders, signature } of vectors) {
  test(`a call to Bedrock has the signature of the AWS SDK: ${name}`, async () => {
    const signed = await signAws({ ...access, sessionToken }, { url: `${origin}${path}`, headers, body }, date)
    assert.deepEqual(signed, {
      ...headers,
      'x-amz-date': '20261121T120000Z',
      ...(sessionToken !== undefined && { 'x-amz-security-token': sessionToken }),
      authorization: `AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261121/eu-west-1/bedrock/aws4_request, SignedHeaders=${signedHeaders}, Signature=${signature}`,
    })
  })
}

test('the signature covers the body and the port of the address', async () => {
  const signatureOf = async (url: string, text: string) =>
    (await signAws(access, { url, headers, body: Buffer.from(text) }, date))['authorization']
  const one = await signatureOf('http://127.0.0.1:4001/model/m/converse', '{}')
  assert.notEqual(one, await signatureOf('http://127.0.0.1:4001/model/m/converse', '{ }'))
  assert.notEqual(one, await signatureOf('http://127.0.0.1:4002/model/m/converse', '{}'))
  assert.equal(one, await signatureOf('http://127.0.0.1:4001/model/m/converse', '{}'))
})
