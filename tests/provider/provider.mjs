// A certified OpenID Connect provider with people of the tests' choosing.
//
//   node provider.mjs '{"client": {…}, "accounts": {"ana@lab.example": {"name": "Ana"}}}'
//
// It listens on a free port of this machine and prints {"issuer": …} once it does. Its pages
// are its own and load nothing from elsewhere: a browser drives them, and so does a plain HTTP
// client. It goes when whoever started it closes its standard input.
//
// POST /test/rotate   sign with a new key; {"forget": true} also withdraws the old ones
// POST /test/account  {"login": …, "claims": {…}} change what is said about somebody

import { createHash, generateKeyPairSync, randomUUID } from "node:crypto";
import { createServer } from "node:http";
import Provider from "oidc-provider";

const { client, accounts, thin } = JSON.parse(process.argv[2]);

const people = new Map();
for (const [email, claims] of Object.entries(accounts)) {
  const sub = createHash("sha256").update(email).digest("hex").slice(0, 16);
  people.set(email, { sub, email, email_verified: true, groups: [], ...claims });
}
const bySubject = (sub) => [...people.values()].find((person) => person.sub === sub);

// All that a provider remembers, outside of it: so that the next one, with other keys, goes on.
const remembered = new Map();

class Memory {
  constructor(model) {
    this.model = model;
  }
  key(id) {
    return `${this.model}:${id}`;
  }
  async upsert(id, payload) {
    remembered.set(this.key(id), payload);
  }
  async find(id) {
    return remembered.get(this.key(id));
  }
  async #first(true_of) {
    const mine = [...remembered].filter(([key]) => key.startsWith(`${this.model}:`));
    return mine.map(([, payload]) => payload).find(true_of);
  }
  async findByUid(uid) {
    return this.#first((payload) => payload.uid === uid);
  }
  async findByUserCode(code) {
    return this.#first((payload) => payload.userCode === code);
  }
  async consume(id) {
    remembered.get(this.key(id)).consumed = Math.floor(Date.now() / 1000);
  }
  async destroy(id) {
    remembered.delete(this.key(id));
  }
  async revokeByGrantId(grant) {
    for (const [key, payload] of remembered) {
      if (payload.grantId === grant) remembered.delete(key);
    }
  }
}

const newKey = () => {
  const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
  return { ...privateKey.export({ format: "jwk" }), kid: randomUUID(), alg: "RS256", use: "sig" };
};

const escaped = (text) =>
  String(text).replace(/[&<>"']/g, (letter) => `&#${letter.charCodeAt(0)};`);

const page = (title, body) =>
  // With an icon of its own, or browsers ask for /favicon.ico and complain that there is none.
  `<!doctype html><html lang="en"><meta charset="utf-8"><title>${title}</title>` +
  `<link rel="icon" href="data:,">` +
  `<body><main><h1>${title}</h1>${body}</main></body></html>`;

const loginPage = (uid, wrong = "") =>
  page(
    "Sign in",
    `${wrong && `<p role="alert">${escaped(wrong)}</p>`}
     <form method="post" action="/interaction/${uid}">
     <label>E-mail <input type="text" name="login" autofocus></label>
     <button type="submit">Continue</button>
     <button type="submit" name="cancel" value="yes">Cancel</button></form>`,
  );

const made = (issuer, keys) => {
  const provider = new Provider(issuer, {
    adapter: Memory,
    clients: [client],
    jwks: { keys },
    cookies: { keys: ["for tests only"] },
    conformIdTokenClaims: Boolean(thin),
    pkce: { required: () => true },
    claims: {
      openid: ["sub"],
      email: ["email", "email_verified"],
      profile: ["name", "preferred_username"],
      groups: ["groups"],
    },
    ttl: { AccessToken: 600, AuthorizationCode: 60, IdToken: 600, Interaction: 600, Grant: 3600, Session: 3600 },
    findAccount: (_, sub) =>
      bySubject(sub) && { accountId: sub, claims: () => bySubject(sub) },
    // Whoever signs in has agreed: consent is between people and their provider.
    loadExistingGrant: async ({ oidc }) => {
      const known = oidc.session.grantIdFor(oidc.client.clientId);
      if (known) return oidc.provider.Grant.find(known);
      const grant = new oidc.provider.Grant({
        clientId: oidc.client.clientId,
        accountId: oidc.session.accountId,
      });
      grant.addOIDCScope("openid email profile groups");
      await grant.save();
      return grant;
    },
    features: {
      devInteractions: { enabled: false },
      rpInitiatedLogout: {
        logoutSource: (ctx, form) => {
          const button = '<button form="op.logoutForm" name="logout" value="yes">Sign out</button>';
          ctx.body = page("Sign out", `${form}${button}`);
        },
        postLogoutSuccessSource: (ctx) => {
          ctx.body = page("Signed out", "");
        },
      },
    },
    renderError: (ctx, out) => {
      ctx.body = page("That did not work", `<p>${escaped(out.error)}: ${escaped(out.error_description)}</p>`);
    },
  });
  provider.on("server_error", (_, error) => console.error(error));
  return provider;
};

const read = async (request) => {
  let text = "";
  for await (const part of request) text += part;
  return text;
};

const interaction = async (provider, request, response) => {
  const { uid } = await provider.interactionDetails(request, response);
  const html = (text) => response.setHeader("Content-Type", "text/html; charset=utf-8").end(text);
  if (request.method === "GET") return html(loginPage(uid));
  const form = new URLSearchParams(await read(request));
  if (form.has("cancel")) {
    return provider.interactionFinished(request, response, { error: "access_denied" });
  }
  const person = people.get(form.get("login")?.trim());
  if (!person) return html(loginPage(uid, `Nobody here is called ${form.get("login")}.`));
  return provider.interactionFinished(request, response, { login: { accountId: person.sub } });
};

let keys = [newKey()];
let provider;

const routes = {
  "/test/rotate": ({ forget }) => {
    keys = [newKey(), ...(forget ? [] : keys)];
    provider = made(provider.issuer, keys);
  },
  "/test/account": ({ login, claims }) => {
    Object.assign(people.get(login), claims);
  },
};

const answer = async (request, response) => {
  const { pathname } = new URL(request.url, provider.issuer);
  if (request.method === "POST" && pathname in routes) {
    routes[pathname](JSON.parse((await read(request)) || "{}"));
    response.statusCode = 204;
    return response.end();
  }
  if (pathname.startsWith("/interaction/")) return interaction(provider, request, response);
  return provider.callback()(request, response);
};

const server = createServer((request, response) => {
  answer(request, response).catch((error) => {
    response.statusCode = 400;
    response.end(String(error));
  });
});

server.listen(0, "127.0.0.1", () => {
  // By name, where those who sign in with it are at 127.0.0.1: to a browser it is another
  // site, as a real provider is, and cookies travel between the two as they would there.
  provider = made(`http://localhost:${server.address().port}`, keys);
  console.log(JSON.stringify({ issuer: provider.issuer }));
});

process.stdin.on("end", () => process.exit(0)).resume();
