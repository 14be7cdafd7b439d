#:property PublishAot=false
// Lists, creates, updates and deletes order statuses. Usage: dotnet run Storefront.cs -- <address> <API key>

using System.Text;
using System.Text.Json.Nodes;
using System.Text.RegularExpressions;
using System.Xml.Linq;

using var handler = new HttpClientHandler { AllowAutoRedirect = false };
using var http = new HttpClient(handler) { BaseAddress = new Uri($"{args[0]}/restapi/"), Timeout = TimeSpan.FromSeconds(10) };
http.DefaultRequestHeaders.Add("X-API-AUTH", args[1]);
var pause = TimeSpan.Zero;

var statuses = JsonNode.Parse(await Call(HttpMethod.Get, "orderstatuses.json"))!.AsArray();
Console.WriteLine($"listed {statuses.Count} order statuses");

var created = JsonNode.Parse(await Call(HttpMethod.Post, "orderstatuses.json", """{"Name": "On hold"}"""))!;
Console.WriteLine($"created {created["Name"]}");

var updated = JsonNode.Parse(await Call(HttpMethod.Put, $"orderstatuses/{created["ID"]}.json", """{"Name": "Waiting"}"""))!;
Console.WriteLine($"updated {updated["Name"]}");

var deleted = JsonNode.Parse(await Call(HttpMethod.Delete, $"orderstatuses/{created["ID"]}.json"))!;
Console.WriteLine($"deleted {deleted["Name"]}");

var record = new XElement("OrderStatus", new XElement("Name", "Smith & Sons"));
var stored = XDocument.Parse(await Call(HttpMethod.Post, "orderstatuses.xml", record.ToString())).Root!;
Console.WriteLine($"created in XML {stored.Element("Name")!.Value}");
await Call(HttpMethod.Delete, $"orderstatuses/{stored.Attribute("ID")!.Value}.xml");

// Returns the response's body. Retries temporary failures, and keeps to the key's rate limit. Throws with the problem document if the status isn't 2xx.
async Task<string> Call(HttpMethod method, string path, string? body = null)
{
    // Every attempt has the same key, so nothing is written twice.
    var idempotencyKey = Guid.NewGuid().ToString();
    for (var attempt = 1; ; attempt++)
    {
        await Task.Delay(pause);
        pause = TimeSpan.Zero;
        // Random, so that clients don't all come back at once.
        var wait = TimeSpan.FromSeconds(Math.Pow(2, attempt) * (0.05 + Random.Shared.NextDouble() / 10));
        using var request = new HttpRequestMessage(method, path);
        if (method != HttpMethod.Get) request.Headers.Add("Idempotency-Key", idempotencyKey);
        var type = path.Contains(".xml") ? "application/xml" : "application/json";
        if (body is not null) request.Content = new StringContent(body, Encoding.UTF8, type);
        try
        {
            using var response = await http.SendAsync(request);
            var text = await response.Content.ReadAsStringAsync();
            pause = PauseAfter(response);
            if (response.IsSuccessStatusCode) return text;
            var status = (int)response.StatusCode;
            var isTemporary = status is 408 or 409 or 429 or 502 or 503 or 504 || (status == 500 && attempt == 1);
            if (!isTemporary || attempt == 6) throw new InvalidOperationException(text);
            wait += response.Headers.RetryAfter?.Delta ?? TimeSpan.Zero;
        }
        // No response in time, or only a part of one.
        catch (Exception error) when (attempt < 6 && error is HttpRequestException or TaskCanceledException) { }
        await Task.Delay(wait);
    }
}

// How long to wait for the key's rate limit: q requests in w seconds, of which r are left. After t seconds, it's q again.
TimeSpan PauseAfter(HttpResponseMessage response)
{
    var limit = Find(response, "RateLimit-Policy", @"q=(\d+);w=(\d+)");
    var left = Find(response, "RateLimit", @"r=(\d+);t=(\d+)");
    if (limit is null || left is null || left.Value.First > 0) return TimeSpan.Zero;
    var (requests, seconds) = limit.Value;
    return TimeSpan.FromSeconds(Math.Max(0, left.Value.Second - seconds) + seconds / requests);
}

// The two numbers in a header.
(double First, double Second)? Find(HttpResponseMessage response, string header, string pattern)
{
    if (!response.Headers.TryGetValues(header, out var values)) return null;
    var found = Regex.Match(string.Join(",", values), pattern);
    return found.Success ? (double.Parse(found.Groups[1].Value), double.Parse(found.Groups[2].Value)) : null;
}
