#:property PublishAot=false
// Lists, creates, updates and deletes order statuses. Usage: dotnet run Storefront.cs -- <address> <API key>

using System.Text;
using System.Text.Json.Nodes;
using System.Xml.Linq;

using var http = new HttpClient { BaseAddress = new Uri($"{args[0]}/restapi/"), Timeout = TimeSpan.FromSeconds(10) };
http.DefaultRequestHeaders.Add("X-API-AUTH", args[1]);

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

// Returns the response's body. Throws with the problem document if the status isn't 2xx.
async Task<string> Call(HttpMethod method, string path, string? body = null)
{
    using var request = new HttpRequestMessage(method, path);
    if (body is not null) request.Content = new StringContent(body, Encoding.UTF8);
    using var response = await http.SendAsync(request);
    var text = await response.Content.ReadAsStringAsync();
    return response.IsSuccessStatusCode ? text : throw new HttpRequestException(text);
}
